#include "report/stalls/chosen.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "core/span_kinds.h"
#include "sinks/text_format.h"
#include "syscalls/names.h"

namespace overdue {
namespace {

constexpr std::size_t choices_kept = 1'000, kinds_kept = LATENCY_SLOTS;
constexpr std::size_t kinds_shown = 20, waiting_shown = 8;

MeasuredKind kind_of(const chosen_threshold& chosen) {
  MeasuredKind kind{.span = known_span_kind(chosen.span)};
  if (chosen.flags & CHOSEN_OF_CALL) kind.call = chosen.subject;
  if (kind.span == SPAN_PAIR) kind.pair = fixed_text(chosen.name);
  return kind;
}

/// Otherwise the threshold is only that of the idle waits to look at.
bool is_percentile(const chosen_threshold& chosen) {
  return chosen.operations >= Percentile{chosen.asked_ppm}.least_operations();
}

std::string name_of(const MeasuredKind& kind, const Names& names) {
  if (kind.call) return syscall_name(ABI_NATIVE, *kind.call, names);
  if (kind.span == SPAN_SYSCALL) return "other system calls";
  return kind.pair.empty() ? std::string(span_name(kind.span)) : kind.pair;
}

/// "p99 of read: 1.23ms (of 12,345)"; a new line at its end.
std::string line_of(const ChosenRow& row) {
  std::string text = fmt::format("{} of {}: {} (of {}", to_text(row.used), printable(row.name),
                                 duration_text(row.threshold_ns), grouped(row.operations));
  if (row.idle > 0) text += fmt::format(", without {} idle waits", grouped(row.idle));
  if (row.used != row.asked)
    text += fmt::format("; {} would be too many to examine", to_text(row.asked));
  return text + ")\n";
}

/// "too few operations for a percentile: fsync 37, openat 12 and 3 others"
std::string waiting_text(const std::vector<std::string>& waiting) {
  if (waiting.empty()) return {};
  const std::size_t shown = std::min(waiting.size(), waiting_shown);
  std::string text = fmt::format("too few operations for a percentile: {}",
                                 fmt::join(std::span(waiting).first(shown), ", "));
  if (shown < waiting.size())
    text += fmt::format(" and {}", counted(waiting.size() - shown, "other"));
  return text + '\n';
}

}  // namespace

std::optional<Percentile> percentile_of(const Thresholds& thresholds, const MeasuredKind& kind) {
  if (kind.call) return thresholds.percentile_of_call(*kind.call);
  return kind.pair.empty() ? thresholds.percentile_of(kind.span)
                           : thresholds.percentile_of_pair(kind.pair);
}

void ChosenThresholds::record(const chosen_threshold& chosen) {
  const MeasuredKind kind = kind_of(chosen);
  if (kinds_.size() >= kinds_kept && !kinds_.contains(kind)) return;  // a damaged file
  Choices& choices = kinds_[kind];
  choices.last = chosen;
  if (chosen.flags & CHOSEN_AT_END || chosen.threshold_ns == 0) return;
  const std::uint64_t time_ns = chosen.header.time_ns;
  if (!choices.from.empty() && time_ns < choices.from.back().first) return;  // likewise
  if (choices.from.size() >= choices_kept) choices.from.erase(choices.from.begin());
  choices.from.emplace_back(time_ns, chosen.threshold_ns);
  std::uint64_t& least = least_[kind.span];
  if (least == 0 || chosen.threshold_ns < least) least = chosen.threshold_ns;
}

std::uint64_t ChosenThresholds::at(const MeasuredKind& kind, std::uint64_t time_ns) const {
  const auto found = kinds_.find(kind);
  if (found == kinds_.end()) return 0;
  const auto& from = found->second.from;
  const auto later = std::ranges::upper_bound(from, time_ns, std::less(),
                                              &std::pair<std::uint64_t, std::uint64_t>::first);
  return later == from.begin() ? 0 : std::prev(later)->second;
}

std::uint64_t ChosenThresholds::least_of(span_kind span) const {
  const auto found = least_.find(span);
  return found != least_.end() ? found->second : 0;
}

std::vector<ChosenRow> ChosenThresholds::rows(const Names& names) const {
  std::vector<ChosenRow> rows;
  for (const auto& [kind, choices] : kinds_)
    rows.push_back({.span = span_name(kind.span),
                    .name = name_of(kind, names),
                    .asked = {choices.last.asked_ppm},
                    .used = {choices.last.used_ppm},
                    .threshold_ns = is_percentile(choices.last) ? choices.last.threshold_ns : 0,
                    .operations = choices.last.operations,
                    .idle = choices.last.idle});
  std::ranges::sort(rows, [](const ChosenRow& a, const ChosenRow& b) {
    return std::pair(b.operations, a.name) < std::pair(a.operations, b.name);
  });
  return rows;
}

void ChosenSection::members(Members& member, const ReportContext&) const {
  member.list(
      "percentiles", rows_,
      [&](const ChosenRow& row) {
        member.type("percentile", "A threshold that is a percentile of latencies");
        member("span", row.span, {.help = "kind of span"});
        member("name", row.name, {.help = "system call or user span, else the kind"});
        member("percentile", to_text(row.used), {.help = "that the threshold is: p99"});
        member("asked", to_text(row.asked),
               {.help = "percentile of -T; `percentile` is higher if too much would be late"});
        member("threshold_ns", when(row.threshold_ns > 0, row.threshold_ns),
               {.help = "at the end of the session; missing: there were too few operations"});
        member("operations", row.operations, {.help = "counted, without the idle waits"});
        member("idle", row.idle, {.help = "waits for work and for time, estimated"});
      },
      {.below = true});
}

std::string ChosenSection::text(const ReportContext& context) const {
  std::string text;
  std::vector<std::string> waiting;
  std::size_t chosen = 0;
  const std::size_t most = top_ == 0 ? kinds_shown : top_;
  for (const ChosenRow& row : rows_) {
    if (row.threshold_ns == 0)
      waiting.push_back(fmt::format(
          "{} {}{}", printable(row.name), grouped(row.operations),
          row.idle > 0 ? fmt::format(" (and {})", counted(row.idle, "idle wait")) : ""));
    else if (++chosen <= most)
      text += line_of(row);
  }
  if (chosen > most) text += fmt::format("  … {}\n", counted(chosen - most, "more percentile"));
  return folded_lines(text + waiting_text(waiting), context.width);
}

}  // namespace overdue
