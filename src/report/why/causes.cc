#include "report/why/causes.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/share.h"
#include "base/text.h"
#include "core/finding_members.h"
#include "report/why/sections.h"
#include "sinks/text_finding.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

constexpr std::size_t names_shown = 3, cause_rows_shown = 10, example_lines = 5;

/// Waits of runnable threads in the findings, as a cause; without waits, none. `by` stands before
/// the name of what kept them from running, if that is known.
void add_runnable(std::vector<WhyCause>& causes, const RunnableTime& late, std::string_view kind,
                  std::string_view text, std::string_view by) {
  if (late.total_ns() == 0) return;
  const RunnableTime::Sums sums = late.weighted(WhySampling());  // all were examined
  WhyCause cause{.cause = std::string(text),
                 .kind = kind,
                 .count = sums.count,
                 .total_ns = late.total_ns(),
                 .max_ns = late.max_ns(),
                 .parts = late.parts(),
                 .example = late.longest()};
  cause.idle_ns = sums.idle_ns;
  for (const auto& [key, name] : sums.by) cause.by.push_back(name);
  std::ranges::sort(cause.by, std::ranges::greater(), &WhyName::ns);
  for (const auto& [key, name] : late.who()) cause.who.push_back(name);
  std::ranges::sort(cause.who, std::ranges::greater(), &WhyName::ns);
  if (!cause.by.empty()) cause.cause += fmt::format("{}{}", by, shown_name(cause.by.front()));
  if (cause.by.size() > 1)
    cause.cause += fmt::format(" and {}", counted(cause.by.size() - 1, "other"));
  causes.push_back(std::move(cause));
}

}  // namespace

void describe_cause(Members& member, const WhyCause& cause, std::uint64_t late_ns) {
  member("cause", cause.cause, {.help = "the root of the delays, in words"});
  member("kind", cause.kind, {.choices = why_kinds});
  member("count", cause.count, {.help = "late operations, samples or calls"});
  member("total_ns", cause.total_ns, {.help = "time that all threads lost to it, added up"});
  member("share", share_of(cause.total_ns, late_ns), {.help = "of the time of all causes, 0 to 1"});
  member("max_ns", cause.max_ns, {.help = "longest of the operations; 0: not known"});
  member("who", cause.who, {.help = "the threads that were late"});
  member("by", cause.by, {.help = "the threads that ran, or the cgroups, meanwhile"});
  member("idle_ns", when(cause.kind == why_runqueue, cause.idle_ns),
         {.help = "no thread had the CPU, as while it wakes up"});
  member("parts", cause.parts, {.help = "of the examined operations", .look = Look::parts});
}

std::string shown_name(const WhyName& name) {
  constexpr std::size_t bytes_max = 256;
  return made_printable(name.name, bytes_max);
}

std::string names_text(const std::vector<WhyName>& names) {
  std::vector<std::string> said;
  for (const WhyName& one : names) {
    if (said.size() == names_shown) break;
    said.push_back(names.size() == 1
                       ? shown_name(one)
                       : fmt::format("{} {}", shown_name(one), duration_text(one.ns)));
  }
  if (names.size() > names_shown) said.push_back(counted(names.size() - names_shown, "other"));
  return fmt::format("{}", fmt::join(said, ", "));
}

std::uint64_t total_of(std::span<const WhyCause> causes) {
  std::uint64_t ns = 0;
  for (const WhyCause& cause : causes) ns += cause.total_ns;
  return ns;
}

std::string causes_text(std::span<const WhyCause> shown, std::size_t all, std::uint64_t late_ns,
                        CausesAre are) {
  if (shown.empty()) return {};
  const bool are_late = are == CausesAre::late;
  std::string text = fmt::format("{:>8} {:>6} {:>9} {:>8}  {}\n", "TOTAL", "SHARE", "COUNT",
                                 "LONGEST", are_late ? "CAUSE" : "WAIT");
  for (const WhyCause& cause : shown)
    text += fmt::format("{:>8} {:>5}% {:>9} {:>8}  {}\n{:>36}{}: {}\n",
                        duration_text(cause.total_ns), percent_of(cause.total_ns, late_ns),
                        cause.count == 0 ? "-" : grouped(cause.count),
                        cause.max_ns == 0 ? "-" : duration_text(cause.max_ns), cause.cause, "",
                        are_late ? "late" : "of", names_text(cause.who));
  if (shown.size() < all)
    text +=
        fmt::format("  … {}\n", counted(all - shown.size(), are_late ? "more cause" : "more wait"));
  return text;
}

void CauseLine::members(Members& member, const ReportContext&) const {
  member.type("cause", "Late time with one root");
  describe_cause(member, cause_, late_ns_);
  member("example", cause_.example ? cause_.example->number : 0,
         {.help = "number of the longest finding; 0: none"});
}

void ExampleLine::members(Members& member, const ReportContext&) const {
  describe(member, finding_);
}

std::string example_text(const Finding& finding, const ReportContext& context) {
  const std::string whole = finding_text(
      finding, context.info,
      {.color = context.color, .whole_stacks = context.whole_stacks, .threshold = false});
  std::string text;
  std::size_t lines = 0, begin = 0;
  while (begin < whole.size()) {
    const std::size_t end = std::min(whole.find('\n', begin), whole.size());
    if (!context.whole_stacks && lines++ == example_lines) break;
    text += "      " + whole.substr(begin, end - begin) + '\n';
    begin = end + 1;
  }
  return text;
}

CausesSection::CausesSection(const BlameTable& blame, Options options)
    : options_(std::move(options)) {
  causes_ = blame.blocked(WhySampling()).causes;
  add_runnable(causes_, blame.runqueue(), why_runqueue, "waited for a CPU", " behind ");
  add_runnable(causes_, blame.throttled(), why_throttled, "throttled", " ");
  std::ranges::sort(causes_, std::ranges::greater(), &WhyCause::total_ns);
  late_ns_ = total_of(causes_);
}

void CausesSection::members(Members& member, const ReportContext&) const {
  member.list("causes", causes_,
              [&](const WhyCause& cause) {
                member.type("stall_cause", "Late time with one root");
                describe_cause(member, cause, late_ns_);
              },
              {.below = true});
}

std::string CausesSection::text(const ReportContext& context) const {
  const std::size_t most =
      std::min(causes_.size(), options_.top == 0 ? cause_rows_shown : options_.top);
  const auto rows = std::span(causes_).first(most);
  std::string text = causes_text(rows, causes_.size(), late_ns_);
  const auto longest = std::ranges::max_element(rows, {}, &WhyCause::max_ns);
  if (!options_.shows_longest || longest == rows.end()) return folded_lines(text, context.width);
  if (const auto& example = longest->example; example)
    text += fmt::format("\nthe longest, of cause {}\n{}", longest - rows.begin() + 1,
                        example_text(*example, context));
  return folded_lines(text, context.width);
}

std::vector<std::shared_ptr<const Section>> CausesSection::lines() const {
  std::vector<std::shared_ptr<const Section>> all;
  std::vector<bool> shown = options_.shown;
  for (const WhyCause& cause : causes_) {
    all.push_back(std::make_shared<CauseLine>(cause, late_ns_));
    if (!cause.example) continue;
    const std::uint64_t number = cause.example->number;
    shown.resize(std::max<std::size_t>(shown.size(), number + 1));
    if (!shown[number]) all.push_back(std::make_shared<ExampleLine>(*cause.example));
    shown[number] = true;
  }
  return all;
}

}  // namespace overdue
