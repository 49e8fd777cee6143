#include "report/why/sections.h"

#include <array>

#include <fmt/format.h>

#include "core/finding_members.h"
#include "report/why/causes.h"
#include "report/why/groups.h"

namespace overdue {
namespace {

/// The reasons for which threads were blocked, and their members.
constexpr std::array<std::pair<std::string_view, wait_reason>, WAIT_REASONS> reasons = {{
    {"futex_ns", REASON_FUTEX},
    {"lock_ns", REASON_LOCK},
    {"disk_ns", REASON_DISK},
    {"fault_ns", REASON_FAULT},
    {"events_ns", REASON_EVENTS},
    {"input_ns", REASON_INPUT},
    {"output_ns", REASON_OUTPUT},
    {"sleep_ns", REASON_SLEEP},
    {"child_ns", REASON_CHILD},
    {"stopped_ns", REASON_STOPPED},
    {"other_ns", REASON_OTHER},
}};

void describe_group(Members& member, const WhyRow& group, Whose by) {
  member.type("why_group", "Where the time of threads with one name went, or of those of a row");
  member("name", by == Whose::cgroup ? group.cgroup : group.comm,
         {.help = "of the threads; with * for numbers where names differ; with --by cgroup its "
                  "path, with --by parent the name of the processes"});
  member("pid", when(group.pid != 0, group.pid), {.help = "missing for threads of many processes"});
  member("tid", when(by == Whose::thread && group.tid != 0, group.tid));
  describe_common(member, group, by == Whose::group ? 0 : group.processes);
  member("threads", group.threads);
  member("wall_ns", group.wall_ns,
         {.help = "time in which the threads were measured, added up: the sum of the parts"});
  member.object("parts",
                [&] {
                  member.type("why_parts", "The parts of a group's wall_ns");
                  member("oncpu_ns", group.oncpu_ns);
                  member("runqueue_ns", group.runqueue_ns);
                  member("preempted_ns", group.preempted_ns);
                  member("throttled_ns", group.throttled_ns);
                  member("blocked_ns", group.blocked_ns());
                  member("unknown_ns", group.unknown_ns());
                },
                {.look = Look::parts});
  member.object("reasons",
                [&] {
                  member.type("why_reasons",
                              "What a group's threads were blocked for: the parts of blocked_ns");
                  for (const auto& [key, reason] : reasons) member(key, group.reason_ns[reason]);
                  member("network_ns", group.network_ns,
                         {.help = "waited in sockets for the other side"});
                  member("work_ns", group.work_ns, {.help = "waited for work"});
                },
                {.look = Look::parts, .part_of = "blocked_ns"});
  member.object("others_waits", [&] {
    member.type("why_others_waits",
                "Waits in run queues, after a wake-up or a preemption, of the threads of all other "
                "rows");
    member("total_ns", group.others.total_ns);
    member("behind_ns", group.others.behind_ns,
           {.help = "part of total_ns in which threads of this row had the CPU"});
    member("unknown_ns", group.others.unknown_ns,
           {.help = "part of total_ns in which it is not known which thread had the CPU"});
  });
}

}  // namespace

void describe(Members& member, const WhyName& name) {
  member.type("why_name", "Time of threads with one name, or of a cgroup");
  member("name", name.name);
  member("count", name.count);
  member("ns", name.ns);
}

void describe(Members& member, const WhyFunction& function) {
  member.type("why_function", "A function's part in the CPU time of threads with one name");
  member("function", function.function,
         {.help = "the program's own innermost function and its caller; empty: unknown"});
  member("call", when(!function.call.empty(), function.call),
         {.help = "the system call that most of the samples are in"});
  member("module", function.module);
  member("share", function.share(), {.help = "of the samples of these threads, 0 to 1"});
  member("samples", function.samples);
  member("thread", function.thread, {.help = "name of the threads, with * for numbers"});
}

void WhySection::members(Members& member, const ReportContext&) const {
  member("verdict", figures_.verdict,
         {.help = "the largest cause, in a sentence", .look = Look::headline});
  member("threshold_ns", figures_.threshold_ns,
         {.help = "operations from this latency on were examined one by one"});
  member("by", to_word(figures_.by), {.help = "what a row of groups is", .choices = why_words});
  member.list("groups", figures_.groups,
              [&](const WhyRow& group) { describe_group(member, group, figures_.by); },
              {.below = true, .title = "Where the time went"});
  member.list("causes", figures_.causes,
              [&](const WhyCause& cause) {
                member.type("why_cause", "Late time with one root");
                describe_cause(member, cause, figures_.late_ns);
                member("example", cause.example, {.help = "the longest operation"});
                member("next", cause.next,
                       {.help = "the command that shows more", .look = Look::command});
              },
              {.below = true, .title = "Causes"});
  member.list("undecided", figures_.undecided,
              [&](const WhyCause& wait) {
                member.type("why_undecided", "Waits of which no rule says what they were for");
                describe_cause(member, wait, total_of(figures_.undecided));
              },
              {.help = "they pass for waits for work, and are no causes; longest in total first",
               .below = true});
  member("oncpu", figures_.oncpu,
         {.help = "most samples first", .below = true, .title = "On the CPU"});
  member("disks", figures_.disks,
         {.help = "use of disks by all processes of the machine, the largest of each disk first",
          .below = true});
  member("next", figures_.next,
         {.help = "commands that show more", .title = "Look closer", .look = Look::command});
}

void WhySection::rows(CsvRows& csv, const ReportContext&) const {
  csv.rows<WhyCause>(figures_.causes, [&](Members& cell, const WhyCause& cause) {
    describe_cause(cell, cause, figures_.late_ns);
  });
  for (const WhyRow& row : figures_.groups)
    if (const OthersWaits& waits = row.others; waits.behind_ns > 0)
      csv.remark(fmt::format("others_waits: behind_ns={} total_ns={} unknown_ns={} row={}",
                             waits.behind_ns, waits.total_ns, waits.unknown_ns,
                             row_name(row, figures_.by)));
}

std::string WhySection::text(const ReportContext& context) const {
  return why_text(figures_, context);
}

}  // namespace overdue
