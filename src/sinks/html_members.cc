#include "sinks/html_members.h"

#include <fmt/format.h>

#include "sinks/text_finding.h"

namespace overdue {

HtmlValue& HtmlMembers::add(HtmlValue::Kind kind, std::string_view key, const About& about) {
  return open_.back()->children.emplace_back(HtmlValue{.kind = kind,
                                                       .key = std::string(key),
                                                       .help = std::string(about.help),
                                                       .title = std::string(about.title),
                                                       .look = about.look,
                                                       .part_of = std::string(about.part_of)});
}

bool HtmlMembers::takes(const Finding& finding) {
  HtmlValue& value = *open_.back();
  value.kind = HtmlValue::Kind::finding;
  value.text = finding_text(finding, info_, {.whole_stacks = true, .threshold = false});
  return true;
}

bool HtmlMembers::takes(const StackFrame& frame) {
  HtmlValue& value = *open_.back();
  value.kind = HtmlValue::Kind::frame;
  value.text =
      frame.name.empty() ? fmt::format("{}+{:#x}", frame.module, frame.offset) : frame.name;
  return true;
}

void HtmlMembers::text(std::string_view key, std::string_view value, const About& about) {
  add(HtmlValue::Kind::text, key, about).text = value;
}

void HtmlMembers::number(std::string_view key, std::uint64_t value, const About& about) {
  HtmlValue& added = add(HtmlValue::Kind::number, key, about);
  added.number = static_cast<double>(value);
  added.count = value;
}

void HtmlMembers::integer(std::string_view key, std::int64_t value, const About& about) {
  if (value >= 0) return number(key, static_cast<std::uint64_t>(value), about);
  HtmlValue& added = add(HtmlValue::Kind::text, key, about);
  added.number = static_cast<double>(value);
  added.text = std::to_string(value);
}

void HtmlMembers::ratio(std::string_view key, double value, const About& about) {
  add(HtmlValue::Kind::share, key, about).number = value;
}

void HtmlMembers::flag(std::string_view key, bool value, const About& about) {
  add(HtmlValue::Kind::flag, key, about).count = value ? 1 : 0;
}

void HtmlMembers::bucket(std::string_view key, const Bucket& value, const About& about) {
  HtmlValue& added = add(HtmlValue::Kind::bucket, key, about);
  added.number = static_cast<double>(value.low_ns);
  added.high = static_cast<double>(value.high_ns.value_or(0));
  added.count = value.count;
}

void HtmlMembers::null(std::string_view key, const About& about) {
  add(HtmlValue::Kind::null, key, about);
}

void HtmlMembers::begin_object(std::string_view key, const About& about) {
  open(HtmlValue::Kind::object, key, about);
}

void HtmlMembers::begin_list(std::string_view key, const About& about) {
  open(HtmlValue::Kind::list, key, about);
}

void HtmlMembers::begin_map(std::string_view key, const About& about) {
  open(HtmlValue::Kind::map, key, about);
}

}  // namespace overdue
