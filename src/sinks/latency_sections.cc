#include "sinks/latency_sections.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "base/time.h"
#include "sinks/text_format.h"
#include "sinks/text_table.h"

namespace overdue {
namespace {

constexpr std::array<std::string_view, 10> keys{"syscall", "span",   "process", "thread",
                                                "name",    "cgroup", "parent",  "container",
                                                "library", "caller"};
constexpr std::array<std::string_view, 3> percentiles{"p50_ns", "p95_ns", "p99_ns"};

std::vector<std::string_view> keys_of(const GroupBy& by) {
  std::vector<std::string_view> used;
  const bool is_used[] = {!by.span,  by.span,   by.process,   by.thread,  by.name,
                          by.cgroup, by.parent, by.container, by.library, by.caller};
  for (std::size_t i = 0; i < std::size(is_used); ++i)
    if (is_used[i]) used.push_back(keys[i]);
  return used;
}

std::vector<std::string_view> uncertain(const RowFigures& row, std::uint64_t lost) {
  std::vector<std::string_view> names;
  if (!row.certain(row.p50, lost)) names.push_back(percentiles[0]);
  if (!row.certain(row.p95, lost)) names.push_back(percentiles[1]);
  if (!row.certain(row.p99, lost)) names.push_back(percentiles[2]);
  return names;
}

void describe_keys(Members& member, const RowFigures& row) {
  const ProcessKey process = row.process.value_or(ProcessKey{});
  member.object_if(row.process.has_value(), "process", [&] {
    member("pid", process.pid);
    member("comm", process.comm);
  });
  const ThreadKey thread = row.thread.value_or(ThreadKey{});
  member.object_if(row.thread.has_value(), "thread", [&] {
    member("tid", thread.tid);
    member("comm", thread.comm);
  });
  const Owner owner = row.owner.value_or(Owner{});
  member("comm", when(!owner.comm.empty(), owner.comm),
         {.help = "with --by name of the threads, with --by parent of the processes"});
  describe_common(member, owner, row.processes);
  member("container", row.container);
  member("library", row.library, {.help = "file name of the library that the program called"});
  member("caller", row.caller, {.help = "function of this library"});
}

/// The figures that JSON and CSV share.
void describe_figures(Members& member, const RowFigures& row) {
  member("calls", row.calls,
         {.help = "calls made, or spans: those in the histogram, \"unreturned\", \"untimed\" and "
                  "\"refused\""});
  member("errors", row.errors, {.help = "calls that returned -1 to -4095; spans that failed"});
  member("total_ns", row.total_ns);
  member("min_ns", row.min_ns);
  member("avg_ns", row.avg_ns, {.help = "total_ns by the calls that returned, rounded down"});
  member("p50_ns", row.p50.value_ns,
         {.help = "percentiles: upper bound of the histogram's bucket, at most 6.25 % above the "
                  "exact value"});
  member("p95_ns", row.p95.value_ns);
  member("p99_ns", row.p99.value_ns);
  member("max_ns", row.max_ns);
  member("stddev_ns", row.stddev_ns);
}

void describe_rest(Members& member, const RowFigures& row, std::uint64_t lost) {
  member("unreturned", row.unreturned,
         {.help = "calls that never returned: the thread ended inside"});
  member("late", row.late, {.help = "first seen after the discovery phase of a two-phase run"});
  member("untimed", row.untimed,
         {.help = "calls counted but not timed, in a two-phase run: made before their exit had a "
                  "hook, or their exit has none (rt_sigreturn, numbers above 511)"});
  member("refused", row.refused,
         {.help = "calls that never began: seccomp or a tracer answered them, or the kernel killed "
                  "the thread. Their errors are in \"errors\""});
  member("complete", row.complete(lost), {.help = "false: loss could have changed a percentile"});
}

void describe_row(Members& member, const RowFigures& row, std::uint64_t lost) {
  member.type("row", "Calls or spans of one name, in one group. Latencies are 0 if none was timed");
  member("span", row.span, {.help = "kind of the spans; none: system calls"});
  member("name", row.name);
  member("id", row.id, {.help = "number of the system call, or of the kind of span"});
  describe_keys(member, row);
  describe_figures(member, row);
  member("histogram", row.buckets,
         {.help = "[low_ns, high_ns, count] of each bucket that is not empty; high_ns is "
                  "exclusive"});
  member("errnos", row.errnos, {.help = "errors by errno name, most frequent first"});
  describe_rest(member, row, lost);
  member("uncertain", uncertain(row, lost),
         {.help = "the percentiles that loss could have changed", .choices = percentiles});
}

void describe_unfinished(Members& member, const std::vector<OpenSpan>& spans) {
  const auto describe_span = [&](const OpenSpan& span) {
    member.type("open");
    member("name", span.name);
    member("tid", span.tid);
    member("comm", span.comm);
    member("age_ns", span.age_ns);
    member("older", when(span.older, true),
           {.help = "the span began before the session: age_ns is a lower bound"});
  };
  member.list("unfinished", spans, describe_span,
              {.help = "calls that are open at the end, oldest first", .below = true});
}

std::string errnos_text(const RowFigures& row) {
  std::string text;
  for (const auto& [name, count] : row.errnos)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, count);
  return text;
}

/// Cells of the group keys of a row, empty for a key that the row lacks.
void describe_group_cells(Members& member, const RowFigures& row, const GroupBy& by) {
  const auto pair = [&](std::string_view id, std::string_view name, const auto& key,
                        const auto number) {
    member(id, or_null(key ? &((*key).*number) : nullptr));
    member(name, or_null(key ? &key->comm : nullptr));
  };
  if (by.span) member("span", row.span.value_or(""));
  if (by.process) pair("pid", "process", row.process, &ProcessKey::pid);
  if (by.thread) pair("tid", "thread", row.thread, &ThreadKey::tid);
  const Owner owner = row.owner.value_or(Owner{});
  if (by.name || by.parent) member("comm", owner.comm);
  if (by.has_owners()) describe_common(member, owner, row.processes);
  if (by.container) member("container", or_null(row.container));
  if (by.library) member("library", or_null(row.library));
  if (by.caller) member("caller", or_null(row.caller));
}

void add_remarks(CsvRows& csv, const std::vector<OpenSpan>& unfinished) {
  for (const OpenSpan& span : unfinished)
    csv.remark(fmt::format("unfinished: {} tid={} comm={} age_ns={}{}", printable(span.name),
                           span.tid, printable(span.comm), span.age_ns,
                           span.older ? " older" : ""));
}

/// A name, as a line of its own.
class NameLine final : public Section {
 public:
  explicit NameLine(FoundName found) : found_(std::move(found)) {}
  Place place() const override { return Place::line; }
  std::string_view type() const override { return "name"; }
  void members(Members& member, const ReportContext&) const override { describe(member, found_); }
  std::string text(const ReportContext&) const override { return {}; }

 private:
  FoundName found_;
};

}  // namespace

void describe(Members& member, const FoundName& found) {
  const CallerName caller = found.caller.value_or(CallerName{});
  member("name", found.name);
  member("library", when(found.caller.has_value(), caller.library));
  member("caller", when(found.caller.has_value(), caller.function));
}

LatencySection::LatencySection(std::string_view title) : table_(LatencyTable{}) {
  table_.title = title;
}

SectionPtr LatencySection::any_interval(std::string_view title) {
  const auto any = std::make_shared<LatencySection>(title);
  any->interval_start_ = WallTime{};
  return any;
}

void LatencySection::members(Members& member, const ReportContext& context) const {
  const std::uint64_t lost = context.receipt.lost();
  if (interval_start_) {
    member("start", format_rfc3339(*interval_start_));
    member("end", format_rfc3339(*interval_start_ + Duration(table_.wall_ns)));
  }
  member("by", keys_of(table_.by), {.help = "what rows are grouped by", .choices = keys});
  member("wall_ns", table_.wall_ns, {.help = "the time that the rows cover"});
  member("complete", table_.complete(lost), {.help = "false: loss could have changed a figure"});
  member.list(table_.title.empty() ? std::string_view("rows") : table_.title, table_.rows,
              [&](const RowFigures& row) { describe_row(member, row, lost); }, {.below = true});
  describe_unfinished(member, table_.unfinished);
}

std::string LatencySection::text(const ReportContext& context) const {
  std::string text;
  Output output(text);
  if (interval_start_)
    output.append(fmt::format("{} to {}, {}\n", local_time_of_day(*interval_start_),
                              local_time_of_day(*interval_start_ + Duration(table_.wall_ns)),
                              format_duration(Duration(table_.wall_ns))));
  else if (context.has_lines)
    output.append(fmt::format("whole session, {}\n", duration_text(table_.wall_ns)));
  write_text_table(output, table_, context.receipt.lost(), context.color);
  output.flush();
  return text;
}

void LatencySection::rows(CsvRows& csv, const ReportContext& context) const {
  const std::uint64_t lost = context.receipt.lost();
  const WallTime start = interval_start_.value_or(context.info.start_wall);
  csv.rows<RowFigures>(table_.rows, [&](Members& cell, const RowFigures& row) {
    cell("type", interval_start_ ? "interval" : "total");
    cell("start", format_rfc3339(start));
    cell("wall_ns", table_.wall_ns);
    describe_group_cells(cell, row, table_.by);
    cell("name", row.name);
    cell("id", row.id);
    describe_figures(cell, row);
    describe_rest(cell, row, lost);
    cell("errnos", errnos_text(row));
  });
  if (!interval_start_) add_remarks(csv, table_.unfinished);
}

void UnfinishedSection::members(Members& member, const ReportContext&) const {
  describe_unfinished(member, spans_);
}

std::string UnfinishedSection::text(const ReportContext&) const {
  std::string text;
  Output output(text);
  write_text_unfinished(output, spans_);
  output.flush();
  return text.empty() ? text : text.substr(1);  // without the empty line
}

void UnfinishedSection::rows(CsvRows& csv, const ReportContext&) const {
  add_remarks(csv, spans_);
}

void NamesSection::members(Members& member, const ReportContext& context) const {
  if (context.has_lines) return;
  constexpr About about{.help = "what --discover found", .below = true};
  const bool has_callers =
      std::ranges::any_of(names_, [](const FoundName& found) { return found.caller.has_value(); });
  if (!has_callers) {
    std::vector<std::string> plain;
    for (const FoundName& found : names_) plain.push_back(found.name);
    member("names", plain, about);
  }
  if (has_callers || member.describes_types()) member("names", names_, about);
}

std::vector<SectionPtr> NamesSection::lines() const {
  std::vector<SectionPtr> lines;
  for (const FoundName& found : names_) lines.push_back(std::make_shared<NameLine>(found));
  return lines;
}

SectionPtr NamesSection::element() {
  return std::make_shared<NameLine>(FoundName{});
}

std::string NamesSection::text(const ReportContext&) const {
  std::size_t width = 0;
  for (const FoundName& found : names_)
    width = std::max(width, display_width(printable(found.name)));
  std::string text;
  for (const FoundName& found : names_) {
    const std::string name = printable(found.name);
    text += name;
    if (found.caller)
      text += fmt::format("{}  {} ({})", std::string(width - display_width(name), ' '),
                          printable(found.caller->function), printable(found.caller->library));
    text += '\n';
  }
  return text;
}

void NamesSection::rows(CsvRows& csv, const ReportContext&) const {
  csv.rows<FoundName>(names_, [](Members& cell, const FoundName& found) { describe(cell, found); });
}

}  // namespace overdue
