#include "report/profile/sections.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include <fmt/format.h>

#include "base/share.h"
#include "base/time.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

void describe_cpu(Members& member, const ProfiledCpu& cpu) {
  member.type("profiled_cpu", "Samples of a CPU, lost ones included");
  member("cpu", cpu.cpu);
  member("samples", cpu.samples, {.help = "in threads of the target"});
  member("idle", cpu.idle);
  member("others", cpu.others, {.help = "in other threads"});
  member("busy_share", 1 - share_of(cpu.idle, cpu.taken()), {.help = "0 to 1"});
}

void describe_thread(Members& member, const ProfiledThread& thread, const ProfileFigures& all) {
  member.type("profiled_thread", "Samples of a thread");
  const bool is_one = !thread.owner;
  const Owner owner = thread.owner.value_or(Owner{});
  const std::string& comm = !is_one && owner.comm.empty() ? owner.process : owner.comm;
  member("pid", when(is_one, thread.pid));
  member("tid", when(is_one, thread.tid));
  member("comm", when(is_one || !comm.empty(), is_one ? thread.comm : comm),
         {.help = "of the thread, with --by parent of the processes"});
  member("process", when(is_one, thread.process), {.help = "name of the process"});
  describe_common(member, owner, thread.processes);
  member("samples", thread.samples);
  member("share", share_of(thread.samples, all.samples), {.help = "of all samples, 0 to 1"});
  member("cpu_share", all.cpu_share(thread), {.help = "CPU time by the time of one CPU"});
}

void describe_name(Members& member, const ProfiledFunction& function) {
  member("function", function.name, {.help = "empty: the functions of the module without names"});
  member("module", function.module,
         {.help = "file; [kernel] or the name of a kernel module in brackets, [vdso], [jit], "
                  "[anon]; empty: unknown"});
  member("kernel", function.is_kernel);
}

void describe_function(Members& member, const ProfiledFunction& function,
                       const ProfileFigures& all) {
  member.type("profiled_function", "Samples in a function");
  describe_name(member, function);
  member("self", function.self, {.help = "samples in the function itself"});
  member("total", function.total,
         {.help = "samples in it and in what it called; a recursion counts once"});
  member("self_share", share_of(function.self, all.samples), {.help = "of all samples, 0 to 1"});
  member("total_share", share_of(function.total, all.samples));
}

void describe_stack(Members& member, const NamedStack& stack, const ProfileFigures& all) {
  member.type("profiled_stack", "Samples with the same functions");
  member("root", stack.root, {.help = "name of the process; with --by, what the word says"});
  member("samples", stack.samples);
  member("share", share_of(stack.samples, all.samples), {.help = "of all samples, 0 to 1"});
  member("cut", stack.is_cut, {.help = "true: the outermost frames are missing"});
  member.list("frames", stack.frames, [&](const ProfiledFunction& frame) {
    member.type("profiled_frame", "A function of a stack, innermost first");
    describe_name(member, frame);
  });
}

}  // namespace

double ProfileFigures::delivered_hz() const {
  std::uint64_t taken = 0;
  for (const ProfiledCpu& cpu : cpus) taken += cpu.taken();
  if (cpus.empty() || duration_ns == 0) return 0;
  return static_cast<double>(taken) / static_cast<double>(cpus.size()) /
         (static_cast<double>(duration_ns) / 1e9);
}

double ProfileFigures::cpu_share(const ProfiledThread& thread) const {
  if (rate_hz == 0 || duration_ns == 0) return 0;
  return static_cast<double>(thread.samples) / rate_hz / (static_cast<double>(duration_ns) / 1e9);
}

SectionPtr ProfileSection::any_interval() {
  return std::make_shared<ProfileSection>(ProfileFigures{}, WallTime{}, WallTime{});
}

void ProfileSection::members(Members& member, const ReportContext&) const {
  const ProfileFigures& all = figures_;
  if (interval_) {
    member("start", format_rfc3339(interval_->start));
    member("end", format_rfc3339(interval_->end));
  }
  member.object("profile", [&] {
    member("event", to_word(all.event),
           {.help = "what takes the samples", .choices = profile_events});
    member("rate_hz", all.rate_hz, {.help = "samples of a CPU in a second, as asked for"});
    member("delivered_hz", all.delivered_hz(), {.help = "… as they came; mean of the CPUs"});
    member("samples", all.samples, {.help = "n of every share"});
    member("kernel_samples", all.kernel_samples, {.help = "those with the thread in the kernel"});
    member.list("cpus", all.cpus, [&](const ProfiledCpu& cpu) { describe_cpu(member, cpu); },
                {.below = true});
  });
  member.list("threads", all.threads,
              [&](const ProfiledThread& thread) { describe_thread(member, thread, all); },
              {.help = "a row for each thread, or with --by for each name, cgroup or parent; most "
                       "samples first",
               .below = true});
  member.list("functions", all.functions,
              [&](const ProfiledFunction& one) { describe_function(member, one, all); },
              {.help = "most samples of their own first", .below = true});
  member.list("stacks", all.stacks,
              [&](const NamedStack& stack) { describe_stack(member, stack, all); },
              {.help = "the hottest; -f folded has all", .below = true});
}

std::string ProfileSection::text(const ReportContext& context) const {
  if (!interval_) return profile_text(figures_, context.whole_stacks);
  return fmt::format("{} to {}\n{}", local_time_of_day(interval_->start),
                     local_time_of_day(interval_->end),
                     profile_interval_text(figures_, context.whole_stacks));
}

void ProfileSection::rows(CsvRows& csv, const ReportContext& context) const {
  const auto describe_time = [&](Members& cell) {
    if (!figures_.has_intervals) return;
    const SessionInfo& info = context.info;
    cell("type", interval_ ? "interval" : "total");
    cell("start", format_rfc3339(interval_ ? interval_->start : info.start_wall));
    cell("end", format_rfc3339(interval_ ? interval_->end : info.wall(info.start + info.duration)));
  };
  if (figures_.by != Whose::process)
    csv.rows<ProfiledThread>(figures_.threads, [&](Members& cell, const ProfiledThread& thread) {
      describe_time(cell);
      describe_thread(cell, thread, figures_);
    });
  else
    csv.rows<ProfiledFunction>(figures_.functions,
                               [&](Members& cell, const ProfiledFunction& function) {
                                 describe_time(cell);
                                 describe_function(cell, function, figures_);
                               });
}

}  // namespace overdue
