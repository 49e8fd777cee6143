#include "sinks/html_layout.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "base/xml_text.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

using Kind = HtmlValue::Kind;

constexpr std::size_t frames_shown = 4;

/// Numbers that are names, not quantities.
constexpr std::string_view number_names[] = {
    "pid", "tid",  "cpu",    "id",   "number", "like",   "line", "offset",     "prio",
    "uid", "hang", "schema", "prio", "nice",   "to_cpu", "ret",  "rt_priority"};

/// Points in time on CLOCK_MONOTONIC, not durations.
constexpr std::string_view instants[] = {"time_ns", "start_ns", "begin_ns", "expires_ns"};

std::string number_text(const HtmlValue& value, KernelTime begin) {
  const std::string_view key = value.key;
  const auto begin_ns = static_cast<std::uint64_t>(begin.time_since_epoch().count());
  if (std::ranges::find(instants, key) != std::end(instants) && value.count >= begin_ns)
    return "+" + duration_text(value.count - begin_ns);
  if (key == "ns" || key.ends_with("_ns")) return duration_text(value.count);
  if (key == "bytes" || key.ends_with("_bytes")) return bytes_text(value.count);
  if (std::ranges::find(number_names, key) != std::end(number_names) || key.ends_with("_id"))
    return fmt::format("{}", value.count);
  return grouped(value.count);
}

std::string share_text(const HtmlValue& value) {
  const std::string_view key = value.key;
  if (key == "share" || key.ends_with("_share") || key.ends_with("_ratio"))
    return fmt::format("{:.1f} %", 100 * value.number);
  if (key.starts_with("percent")) return fmt::format("{:.3f} %", value.number);
  return fmt::format("{:.6g}", value.number);
}

/// The frames of a stack, innermost first; the outer ones of a long stack can be unfolded.
std::string stack_html(const HtmlValue& list) {
  std::string first, rest;
  for (std::size_t i = 0; i < list.children.size(); ++i) {
    std::string& part = i < frames_shown ? first : rest;
    part += (i == 0 ? "" : " ← ") + html_text(list.children[i].text);
  }
  if (rest.empty()) return "<code>" + first + "</code>";
  return fmt::format("<details><summary><code>{}</code></summary><code>{}</code></details>", first,
                     rest);
}

std::string joined(const HtmlValue& value, std::string_view separator, KernelTime begin) {
  std::string text;
  for (const HtmlValue& child : value.children) {
    const std::string one = html_inline(child, begin);
    if (!one.empty()) text += (text.empty() ? "" : std::string(separator)) + one;
  }
  return text;
}

/// The pairs of a map, or members of an object: "EAGAIN 12, EPIPE 1".
std::string pairs_html(const HtmlValue& map, KernelTime begin) {
  std::string text;
  for (const HtmlValue& child : map.children)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", html_text(child.key),
                        html_inline(child, begin));
  return text;
}

std::string commands_html(const HtmlValue& value) {
  std::string text = "<ul class=\"commands\">";
  for (const HtmlValue& command : value.children)
    text += "<li><code>" + html_text(command.text) + "</code></li>";
  return text + "</ul>\n";
}

std::string facts_html(const std::vector<const HtmlValue*>& facts, KernelTime begin) {
  if (facts.empty()) return {};
  std::string text = "<dl>";
  for (const HtmlValue* const fact : facts)
    text += fmt::format("<div><dt>{}</dt><dd title=\"{}\">{}</dd></div>", html_label(fact->key),
                        html_text(fact->help), html_inline(*fact, begin));
  return text + "</dl>\n";
}

/// A heading, and the help below it.
std::string heading(const HtmlValue& value) {
  std::string title = value.title.empty() ? html_label(value.key) : html_text(value.title);
  if (!title.empty() && title[0] >= 'a' && title[0] <= 'z')
    title[0] = static_cast<char>(title[0] - 'a' + 'A');
  std::string text = "<h2>" + title + "</h2>\n";
  if (!value.help.empty()) text += "<p class=\"help\">" + html_text(value.help) + "</p>\n";
  return text;
}

bool has_objects(const HtmlValue& list) {
  return list.kind == Kind::list && std::ranges::any_of(list.children, &HtmlValue::has_children);
}

/// A part of the page below a heading; empty: the value has its place among the facts.
std::string part_html(const HtmlValue& value, const HtmlValue& parent, KernelTime begin) {
  if (value.look == Look::headline)
    return "<p class=\"headline\">" + html_text(value.text) + "</p>\n";
  if (value.look == Look::command && value.kind == Kind::list)
    return heading(value) + commands_html(value);
  if (value.kind == Kind::finding) return heading(value) + html_block(value.text);
  if (value.look == Look::parts) {
    if (!value.part_of.empty()) return {};  // shown in the bar of the other parts
    std::vector<const HtmlValue*> splits;
    for (const HtmlValue& other : parent.children)
      if (!other.part_of.empty()) splits.push_back(&other);
    const std::string bar = html_bar(value, splits);
    return bar.empty() ? bar : heading(value) + "<div class=\"parts\">" + bar + "</div>\n";
  }
  if (is_histogram(value)) return heading(value) + html_histogram(value);
  if (has_objects(value)) return heading(value) + html_table(value, begin);
  if (value.kind == Kind::object) return heading(value) + html_layout(value, begin);
  return {};
}

}  // namespace

std::string html_text(std::string_view text) {
  return xml_escaped(visible(text));
}

std::string html_block(std::string_view lines) {
  std::string text = "<pre>";
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    text += html_text(lines.substr(0, end)) + '\n';
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return text + "</pre>\n";
}

bool is_empty(const HtmlValue& value) {
  switch (value.kind) {
    case Kind::text:
    case Kind::finding:
    case Kind::frame:
      return value.text.empty();
    case Kind::null:
      return true;
    case Kind::object:
    case Kind::list:
    case Kind::map:
      return std::ranges::all_of(value.children, is_empty);
    default:
      return false;
  }
}

std::string html_inline(const HtmlValue& value, KernelTime begin) {
  switch (value.kind) {
    case Kind::text:
      return value.look == Look::command ? "<code>" + html_text(value.text) + "</code>"
                                         : html_text(value.text);
    case Kind::frame:
      return "<code>" + html_text(value.text) + "</code>";
    case Kind::finding:
      return html_block(value.text);
    case Kind::number:
      return number_text(value, begin);
    case Kind::share:
      return share_text(value);
    case Kind::flag:
      return value.count ? "yes" : "no";
    case Kind::null:
    case Kind::bucket:
      return {};
    case Kind::map:
      return pairs_html(value, begin);
    case Kind::object:
      return joined(value, " ", begin);
    case Kind::list:
      if (is_histogram(value)) return html_histogram(value);
      if (!value.children.empty() && value.children.front().kind == Kind::frame)
        return stack_html(value);
      return joined(value, ", ", begin);
  }
  return {};
}

std::string html_layout(const HtmlValue& object, KernelTime begin) {
  std::string text;
  std::vector<const HtmlValue*> facts;
  for (const HtmlValue& value : object.children) {
    if (is_empty(value)) continue;
    const std::string part = part_html(value, object, begin);
    if (part.empty()) {
      if (value.look != Look::parts) facts.push_back(&value);
      continue;
    }
    text += facts_html(facts, begin) + part;
    facts.clear();
  }
  return text + facts_html(facts, begin);
}

}  // namespace overdue
