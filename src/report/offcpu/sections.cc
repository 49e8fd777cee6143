#include "report/offcpu/sections.h"

#include <algorithm>
#include <map>
#include <memory>
#include <span>

#include <fmt/format.h>

#include "base/text.h"
#include "base/time.h"
#include "report/offcpu/text.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

constexpr std::span row_words = std::span(offcpu_words).first<6>();

void describe_parts(Members& member, const OffcpuRow& row) {
  member("oncpu_ns", row.oncpu_ns, {.help = "interrupts included"});
  member("offcpu_ns", row.offcpu_ns(), {.help = "the sum of blocked_ns and runnable_ns"});
  member("blocked_ns", row.blocked_ns(),
         {.help = "the sum of sleeping_ns and uninterruptible_ns: until a wake-up"});
  member("sleeping_ns", row.sleeping_ns, {.help = "asleep, or stopped"});
  member("uninterruptible_ns", row.uninterruptible_ns);
  member("runnable_ns", row.runnable_ns(),
         {.help = "the sum of runqueue_ns, preempted_ns and throttled_ns"});
  member("runqueue_ns", row.runqueue_ns, {.help = "from a wake-up to the CPU"});
  member("preempted_ns", row.preempted_ns, {.help = "from a preemption to the CPU"});
  member("throttled_ns", row.throttled_ns,
         {.help = "runnable time in which a CPU quota, or the limit of real-time threads, kept the "
                  "threads from running"});
}

void describe_counts(Members& member, const OffcpuRow& row) {
  member("switches", row.switches, {.help = "waits that have ended"});
  member("preemptions", row.preemptions,
         {.help = "of these, waits that began when another thread displaced the thread"});
  member("max_ns", row.max_ns, {.help = "longest wait that has ended"});
  member("open_ns", row.open_ns, {.help = "longest wait in progress at the end; 0: none is"});
}

void describe_figures(Members& member, const OffcpuRow& row) {
  member("pid", when(row.pid != 0, row.pid));
  member("tid", when(row.tid != 0, row.tid));
  member.given(row.cgroup.empty(), "comm", row.comm,
               {.help = "name of the thread, or of the process's first thread; of a pattern, with "
                        "* for numbers"});
  describe_common(member, row, row.processes);
  member("threads", row.threads);
  member("wall_ns", row.wall_ns,
         {.help = "time in which the threads were measured: the sum of oncpu_ns, offcpu_ns and "
                  "unknown_ns"});
  describe_parts(member, row);
  member("unknown_ns", row.unknown_ns(), {.help = "with --cpu: also time on other CPUs"});
  describe_counts(member, row);
}

void describe_displacer(Members& member, const Displacer& displacer) {
  member("comm", displacer.comm);
  member("tid", when(displacer.tid != 0, displacer.tid),
         {.help = "missing where threads of one name are added up"});
  member("count", displacer.count);
  member("total_ns", displacer.total_ns, {.help = "until the displaced thread had a CPU again"});
  member("max_ns", displacer.max_ns);
}

}  // namespace

void choose_rows(OffcpuShow& show, std::string_view word) {
  check_whose(word, offcpu_words);
  show.table = word == "displacer" ? OffcpuTableOf::displacers
               : word == "stack"   ? OffcpuTableOf::stacks
               : word == "cpu"     ? OffcpuTableOf::cpus
                                   : OffcpuTableOf::threads;
  show.by = whose_named(word).value_or(Whose::thread);
}

void describe(Members& member, const Displacer& displacer) {
  member.type("displacer", "The times that one thread took the CPU from another");
  describe_displacer(member, displacer);
}

void describe(Members& member, const OffcpuRow& row) {
  member.type("offcpu_row", "Where the threads of a row were");
  describe_figures(member, row);
  member("displaced_by", row.displacers, {.help = "longest in total first"});
}

void describe_sums(Members& member, const OffcpuRow& row) {
  describe_parts(member, row);
  describe_counts(member, row);
}

SectionPtr OffcpuSection::any_interval() {
  return std::make_shared<OffcpuSection>(std::vector<OffcpuRow>{}, OffcpuShow{}, WallTime{},
                                         WallTime{});
}

void OffcpuSection::members(Members& member, const ReportContext&) const {
  if (interval_) {
    member("start", format_rfc3339(interval_->start));
    member("end", format_rfc3339(interval_->end));
  }
  member("by", to_word(show_.by), {.choices = row_words});
  member(
      "threads", rows_,
      {.help = "a row for each thread, process, name, pattern, cgroup or parent", .below = true});
  member("displacers", all_displacers(rows_),
         {.help = "threads that displaced threads of the target; longest in total first",
          .below = true});
  member("stacks", stacks_,
         {.help = "with --by stack: where the threads were when they waited; longest in total "
                  "first",
          .below = true});
  member("cpus", cpus_,
         {.help = "with --by cpu: a row for each CPU that the threads left; adds up to the threads",
          .below = true});
  member("net", net_, {.help = "with --correlate net: the sockets of the target", .below = true});
}

std::string OffcpuSection::text(const ReportContext& context) const {
  if (show_.lines) {
    if (!interval_) return {};
    const std::string lines = longest_lines(rows_, interval_->end);
    return net_ ? lines + socket_lines(*net_, interval_->end) : lines;
  }
  std::string text;
  if (interval_)
    text = fmt::format("{} to {}\n", local_time_of_day(interval_->start),
                       local_time_of_day(interval_->end));
  text += table_text(context);
  return net_ ? text + sockets_text(*net_, show_.top) : text;
}

std::string OffcpuSection::table_text(const ReportContext& context) const {
  if (show_.table == OffcpuTableOf::displacers)
    return displacers_text(all_displacers(rows_), show_.top);
  if (cpus_) return cpus_text(*cpus_, show_.top);
  if (stacks_) return stacks_text(*stacks_, show_.top, context.whole_stacks);
  return offcpu_text(rows_, show_, context.width);
}

void OffcpuSection::rows(CsvRows& csv, const ReportContext& context) const {
  const WallTime start = interval_ ? interval_->start : context.info.start_wall;
  const WallTime end =
      interval_ ? interval_->end : context.info.wall(context.info.start + context.info.duration);
  const auto describe_time = [&](Members& cell) {
    cell("type", interval_ ? "interval" : "total");
    cell("start", format_rfc3339(start));
    cell("end", format_rfc3339(end));
  };
  if (stacks_)
    csv.rows<OffcpuStack>(*stacks_, [&](Members& cell, const OffcpuStack& stack) {
      describe_time(cell);
      describe_row(cell, stack);
    });
  else if (cpus_)
    csv.rows<OffcpuCpu>(*cpus_, [&](Members& cell, const OffcpuCpu& cpu) {
      describe_time(cell);
      describe(cell, cpu);
    });
  else if (show_.table == OffcpuTableOf::displacers)
    csv.rows<Displacer>(all_displacers(rows_), [&](Members& cell, const Displacer& displacer) {
      describe_time(cell);
      describe_displacer(cell, displacer);
    });
  else
    csv.rows<OffcpuRow>(rows_, [&](Members& cell, const OffcpuRow& row) {
      describe_time(cell);
      describe_figures(cell, row);
    });
}

std::vector<Displacer> all_displacers(const std::vector<OffcpuRow>& rows) {
  std::map<std::pair<std::uint32_t, std::string>, Displacer> sums;
  for (const OffcpuRow& row : rows)
    for (const Displacer& one : row.displacers) {
      Displacer& sum = sums[{one.tid, one.comm}];
      sum.tid = one.tid;
      sum.comm = one.comm;
      sum.add(one);
    }
  std::vector<Displacer> all;
  for (auto& [key, sum] : sums) all.push_back(std::move(sum));
  std::ranges::sort(all, std::greater{}, &Displacer::total_ns);
  return all;
}

}  // namespace overdue
