// The report of `overdue why` for people.
#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "report/rows.h"
#include "report/why/causes.h"
#include "report/why/groups.h"
#include "report/why/sections.h"
#include "report/why/short_waits.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

constexpr std::size_t groups_shown = 6, causes_shown = 5, functions_shown = 5, examples_shown = 3,
                      undecided_shown = 2;
constexpr std::size_t bar_width = 20;
constexpr std::uint64_t least_percent = 1, least_others_percent = 5;

using Part = std::pair<std::string_view, std::uint64_t>;

/// The parts of a group's time, longest first.
std::vector<Part> parts_of(const WhyRow& group) {
  std::vector<Part> parts = {{"on CPU", group.oncpu_ns},
                             {"run queue", group.runqueue_ns},
                             {"preempted", group.preempted_ns},
                             {"throttled", group.throttled_ns},
                             {"futex", group.reason_ns[REASON_FUTEX]},
                             {"lock", group.reason_ns[REASON_LOCK]},
                             {"disk", group.reason_ns[REASON_DISK]},
                             {"network", group.network_ns},
                             {"page faults", group.reason_ns[REASON_FAULT]},
                             {"poll", group.reason_ns[REASON_EVENTS]},
                             {"input", group.reason_ns[REASON_INPUT]},
                             {"output", group.reason_ns[REASON_OUTPUT]},
                             {"sleep", group.reason_ns[REASON_SLEEP]},
                             {"waiting for work", group.work_ns},
                             {"children", group.reason_ns[REASON_CHILD]},
                             {"stopped", group.reason_ns[REASON_STOPPED]},
                             {"other waits", group.reason_ns[REASON_OTHER]},
                             {"unknown", group.unknown_ns()}};
  std::ranges::sort(parts, std::ranges::greater(), &Part::second);
  return parts;
}

/// "; 680ms CPU, 45 % of others' run-queue waits (unknown: 12 %)": the CPU time of rows that may
/// add many processes up, and what it did to the other rows.
std::string others_text(const WhyRow& row, Whose by, std::uint64_t duration_ns) {
  const OthersWaits& waits = row.others;
  const auto percent = [&](std::uint64_t ns) {
    return waits.total_ns == 0 ? 0 : 100 * ns / waits.total_ns;
  };
  const bool is_much =
      percent(waits.behind_ns) >= least_others_percent && is_much_of(duration_ns, waits.behind_ns);
  if (!is_much && by != Whose::name && by != Whose::cgroup && by != Whose::parent) return {};
  std::string text = fmt::format("; {} CPU", duration_text(row.oncpu_ns));
  if (!is_much) return text;
  text += fmt::format(", {} % of others' run-queue waits", percent(waits.behind_ns));
  if (const std::uint64_t unknown = percent(waits.unknown_ns); unknown >= least_percent)
    text += fmt::format(" (unknown: {} %)", unknown);
  return text;
}

std::string groups_text(const WhyFigures& all, std::uint64_t duration_ns) {
  const auto rows = shown(all.groups, all.top, groups_shown);
  std::size_t width = 0;
  for (const WhyRow& group : rows) width = std::max(width, display_width(row_name(group, all.by)));
  std::string text = "\nwhere the time went\n";
  for (const WhyRow& group : rows) {
    const std::string name = row_name(group, all.by);
    std::vector<std::string> said;
    for (const auto& [part, ns] : parts_of(group))
      if (ns > 0 && ns * 100 >= group.wall_ns * least_percent)
        said.push_back(
            fmt::format("{} {:.0f}%", part,
                        100 * static_cast<double>(ns) / static_cast<double>(group.wall_ns)));
    text += fmt::format("  {}{}  {} {:>8}  {}{}\n", name,
                        std::string(width - std::min(width, display_width(name)), ' '),
                        time_bar(group, bar_width), duration_text(group.wall_ns),
                        fmt::join(said, ", "), others_text(group, all.by, duration_ns));
  }
  if (rows.size() < all.groups.size())
    text += fmt::format("  … {}\n", counted(all.groups.size() - rows.size(),
                                            all.by == Whose::group ? "more group" : "more row"));
  return text;
}

std::string causes_text(const WhyFigures& all) {
  return causes_text(shown(all.causes, all.top, causes_shown), all.causes.size(), all.late_ns);
}

std::string undecided_text(const WhyFigures& all) {
  return causes_text(shown(all.undecided, all.top, undecided_shown), all.undecided.size(),
                     total_of(all.undecided), CausesAre::undecided);
}

std::string examples_text(const WhyFigures& all, const ReportContext& context) {
  std::string text;
  std::size_t number = 0;
  for (const WhyCause& cause : shown(all.causes, all.top, examples_shown)) {
    ++number;
    if (!cause.example) continue;
    text += fmt::format("{}the longest of cause {}\n", text.empty() ? "\n" : "", number) +
            example_text(*cause.example, context);
  }
  return text;
}

std::string functions_text(const WhyFigures& all) {
  if (all.oncpu.empty()) return {};
  std::string text = "\non the CPU\n";
  for (const WhyFunction& one : shown(all.oncpu, all.top, functions_shown))
    text += fmt::format("  {:>4.0f}% of {} ({} of {} samples)  {}\n", 100 * one.share(),
                        printable(one.thread), grouped(one.samples), grouped(one.of),
                        one.function.empty() ? "[unknown]" : shown_function(one));
  return text;
}

}  // namespace

std::string why_text(const WhyFigures& all, const ReportContext& context) {
  std::string text = all.verdict + "\n";
  text += groups_text(all, static_cast<std::uint64_t>(context.info.duration.count()));
  if (!all.causes.empty()) text += "\n" + causes_text(all);
  if (!all.undecided.empty()) text += "\nmay have waited for work\n" + undecided_text(all);
  text += examples_text(all, context);
  text += functions_text(all);
  if (!all.next.empty()) text += "\nlook closer\n";
  for (const std::string& command : all.next) text += "  " + command + "\n";
  return folded_lines(text, context.width);
}

}  // namespace overdue
