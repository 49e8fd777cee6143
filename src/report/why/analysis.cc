#include "report/why/analysis.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "bpf/profile.h"
#include "core/span_kinds.h"
#include "probes/spans.h"
#include "report/profile/sample_stacks.h"
#include "report/why/call_causes.h"
#include "report/why/known_waits.h"
#include "report/why/sections.h"
#include "report/why/short_waits.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

constexpr std::uint64_t longest_time = std::uint64_t{1} << 62;  // ns
constexpr std::size_t causes_live = 1'000;  // with intervals, each row has its own cause

StallViewOptions every_finding(const WhyPlan& plan, std::function<void(const Finding&)> on_finding,
                               std::function<void(const Finding&)> on_left_out,
                               std::function<bool(const RawStall&)> wants_user_stacks) {
  StallViewOptions options;
  options.thresholds.general = plan.threshold;
  options.timeout = plan.timeout;
  options.spans = plan.spans;
  options.cpus = plan.cpus;
  // The calls themselves are explained.
  options.waits_within_calls = std::ranges::find(plan.spans, SPAN_SYSCALL) == plan.spans.end();
  options.sums = false;
  options.on_finding = std::move(on_finding);
  options.on_left_out = std::move(on_left_out);
  options.wants_user_stacks = std::move(wants_user_stacks);
  return options;
}

/// Whether no rule says what the wait was for: it passes for one for work.
bool is_undecided(const Finding& finding) {
  return finding.purpose.of == "unknown" && finding.purpose.meant_ns > 0 && finding.type != "hang";
}

}  // namespace

void choose_rows(WhyPlan& plan, std::string_view word) {
  check_whose(word, why_words);
  plan.by = whose_named(word).value_or(Whose::group);
}

KeptOptions kept_options(const WhyPlan& plan) {
  return {{"threshold_ns", std::to_string(plan.threshold.count())},
          {"timeout_ns", std::to_string(plan.timeout.count())},
          {"by", std::to_string(static_cast<int>(plan.by))},
          {"top", std::to_string(plan.top)},
          {"unix_questions", plan.sees_unix_questions ? "1" : "0"}};
}

WhyPlan kept_why_plan(const SessionInfo& info) {
  WhyPlan plan;
  plan.threshold =
      Duration(kept_number(info.options, "threshold_ns", plan.threshold.count(), longest_time));
  plan.timeout =
      Duration(kept_number(info.options, "timeout_ns", plan.timeout.count(), longest_time));
  plan.by = static_cast<Whose>(kept_number(info.options, "by", static_cast<int>(Whose::group),
                                           static_cast<int>(Whose::parent)));
  plan.top = kept_number(info.options, "top", 0, UINT32_MAX);
  plan.sees_unix_questions = kept_number(info.options, "unix_questions", 0, 1) == 1;
  return plan;
}

WhyAnalysis::Sums::Sums(const BlameTable::Rules& rules)
    : blame(rules), calls(GroupBy{.process = true}) {}

WhyAnalysis::WhyAnalysis(const WhyPlan& plan, StackNamer& namer, Duration interval)
    : plan_(plan),
      namer_(namer),
      session_({.by_thread = interval.count() > 0}),
      has_intervals_(interval.count() > 0),
      interval_({.by_thread = true, .most_ns = static_cast<std::uint64_t>(interval.count())}),
      stalls_(every_finding(
                  plan, [this](const Finding& finding) { take(finding); },
                  [this](const Finding& finding) { leave_out(finding); },
                  [this](const RawStall& stall) { return wants_user_stacks(stall); }),
              namer, no_sink_) {}

void WhyAnalysis::use_names(const Names& names) {
  names_ = names;
  stalls_.use_names(names);
}

void WhyAnalysis::begin(const SessionInfo& info) {
  names_ = info.names;
  session_.answers = interval_.answers =
      Answers(info.target.kind == "command", plan_.sees_unix_questions);
  stalls_.begin(info);
}

void WhyAnalysis::take(const Finding& finding) {
  const WhySampling::Class of = sampling_.class_of(finding);
  if (finding.user_stack) unnamed_.add(finding.thread.pid, *finding.user_stack);
  holders_.add(finding, of);
  if (Answers::decide(finding)) {
    if (!add_answer(finding) && Answers::is_for_news(finding)) {
      Finding idle = finding;
      idle.purpose = {"work", "the other side waits too", finding.latency_ns};
      purposes_.add(idle, of);
      if (Answers::has_just_asked(finding)) undecided_.add(finding, of);
    }
    return;
  }
  purposes_.add(finding, of);
  session_.answers.note_peer(finding);
  if (has_intervals_) interval_.answers.note_peer(finding);
  blame(finding, of);
}

/// An operation that is no delay may have waited for a CPU all the same.
void WhyAnalysis::leave_out(const Finding& finding) {
  const WhySampling::Class of = sampling_.class_of(finding);
  holders_.add(finding, of);
  session_.blame.add_left_out(finding, of);
  if (has_intervals_) interval_.blame.add_left_out(finding, of);
  if (add_answer(finding)) return;
  purposes_.add(finding, of);
  if (!is_undecided(finding)) return;
  Finding whole = finding;
  whole.purpose.meant_ns = 0;
  undecided_.add(whole, of);
}

/// Whether the purpose is open until the end of the session.
bool WhyAnalysis::add_answer(const Finding& finding) {
  if (has_intervals_) interval_.answers.add(finding);
  return session_.answers.add(finding);
}

/// A thread that could run has no root that a stack would name: the threads that ran are named.
bool WhyAnalysis::wants_user_stacks(const RawStall& stall) {
  const auto could_run = [](const RawWait* wait) { return wait->could_run_all_along(); };
  const bool is_by_waits = stall.span.span == SPAN_OFFCPU || stall.is_way_back;
  if (!is_by_waits || !std::ranges::all_of(stall.waits, could_run)) return true;
  return sampling_.wants_stacks(stall.span);
}

void WhyAnalysis::note_question(const span_record& span) {
  const std::string listener = span_subject(span);
  session_.answers.note_question(span.begin_pid, listener);
  if (has_intervals_) interval_.answers.note_question(span.begin_pid, listener);
}

void WhyAnalysis::blame(const Finding& finding, const WhySampling::Class& of) {
  session_.blame.add(finding, of);
  if (has_intervals_) interval_.blame.add(finding, of);
}

void WhyAnalysis::add_sample(const Record& record) {
  const auto sample = record.as<profile_sample>();
  const auto& [kernel, user] = stacks_of_sample(record, namer_);
  const std::string comm =
      full_name(names_, sample.header.tid, fixed_text(sample.header.comm), QueueOfWork::left_out);
  unnamed_.add(sample.header.pid, user.frames);
  session_.cpu.add(sample.header.pid, comm, kernel, user.frames);
  if (has_intervals_) interval_.cpu.add(sample.header.pid, comm, kernel, user.frames);
}

void WhyAnalysis::record(const Record& record) {
  now_ = std::max(now_, KernelTime(Duration(record.header().time_ns)));
  switch (record.schema->id) {
    case RECORD_OFFCPU_THREAD:
    case RECORD_OFFCPU_DISPLACER:
      return threads_.add(record);
    case RECORD_SYSCALL_CELL:
      if (has_intervals_) interval_.calls.add(record);
      return session_.calls.add(record);
    case RECORD_DISK_USE:
      return disks_.add(record);
    case RECORD_PROFILE_CPU:
      return;
    case RECORD_PROFILE_SAMPLE:
      return add_sample(record);
    case RECORD_SPAN: {
      const auto span = record.as<span_record>();
      if (span.span == SPAN_UNIX_ANSWER) note_question(span);
      if ((span.flags & SPAN_OPEN) || sampling_.wants(span, names_))
        stalls_.record(record);
      else if (span.span == SPAN_SYSCALL && span.latency_ns >= timeout_ns())
        end_call(span.header.tid);
      return;
    }
    default:
      stalls_.record(record);
  }
}

WhyAnalysis::AtEnd WhyAnalysis::at_end(const Sums& sums, const SessionInfo& info) {
  AtEnd found{.calls = sums.calls.table(info.names, info.duration, {}),
              .opened = kept_opened_sockets(info)};
  found.late = sums.answers.late(found.calls, found.opened);
  return found;
}

WhyFigures WhyAnalysis::figures_of_sums(const Sums& sums, const AtEnd& at_end,
                                        const std::vector<OffcpuRow>& threads,
                                        const SessionInfo& info, KernelTime end) const {
  const bool of_interval = &sums == &interval_;
  std::map<std::uint32_t, std::uint64_t> open_ns;
  for (const OffcpuRow& thread : threads) open_ns[thread.tid] = thread.open_ns;
  BlameTable blame = sums.blame;  // operations that are open go on
  for (const Finding& finding : at_end.late) blame.add(finding, sampling_.class_of(finding));
  blame.finish(end, open_ns);
  const std::vector<FileLock> locks = kept_file_locks(info);
  const std::vector<OtherSide> sides = kept_other_sides(info);
  const std::vector<OtherEnd> other_ends = kept_other_ends(info);
  const std::vector<Remark> limits = kept_remarks(of_limit, info);
  const std::vector<Remark> memory_limits = kept_remarks(of_memory_limit, info);
  const std::vector<Remark> disk_limits = kept_remarks(of_disk_limit, info);
  const std::vector<Remark> disk_writers = kept_remarks(of_disk_writer, info);
  const std::vector<Remark> bound_threads = kept_remarks(of_bound_thread, info);
  const std::vector<Remark> lower_priorities = kept_remarks(of_lower_priority, info);
  WhyFindings found{.info = info,
                    .threads = threads,
                    .blame = blame,
                    .undecided = undecided_,
                    .sampling = sampling_,
                    .cpu = sums.cpu,
                    .calls = at_end.calls,
                    .locks = locks,
                    .sides = sides,
                    .other_ends = other_ends,
                    .limits = limits,
                    .memory_limits = memory_limits,
                    .disk_limits = disk_limits,
                    .disk_writers = disk_writers,
                    .bound_threads = bound_threads,
                    .lower_priorities = lower_priorities,
                    .disks = disks_,
                    .threshold_ns = static_cast<std::uint64_t>(plan_.threshold.count())};
  found.of_interval = of_interval;
  if (has_intervals_) found.causes_max = causes_live;
  WhyFigures figures = figures_of(found);
  figures.top = plan_.top;
  return figures;
}

/// Most time on the CPU, uninterruptible or runnable first.
std::vector<WhyRow> WhyAnalysis::rows_of_time(const Names& names) const {
  std::vector<OffcpuRow> rows = threads_.rows(plan_.by);
  complete_rows(rows, plan_.by, names, QueueOfWork::left_out);
  std::ranges::sort(rows, std::ranges::greater(),
                    [](const OffcpuRow& row) { return row.oncpu_ns + row.waiting_ns(); });
  std::vector<WhyRow> all;
  for (OffcpuRow& row : rows) all.push_back({std::move(row), {}});
  return all;
}

/// With the waits whose purpose the end of the session decides.
std::vector<Purposes::Part> WhyAnalysis::parts_by_purpose(
    const AtEnd& at_end, const SessionInfo& info, const std::vector<OffcpuRow>& threads) const {
  Purposes purposes = purposes_;
  for (const Finding& finding : at_end.late) purposes.add(finding, sampling_.class_of(finding));
  for (const Finding& finding : session_.answers.idle(at_end.calls, at_end.opened))
    purposes.add(finding, sampling_.class_of(finding));
  std::vector<Purposes::Part> parts =
      purposes.parts(sampling_, threads, info.start + info.duration);
  for (const Purposes::Part& part : parts_of_answers(at_end.late, threads)) parts.push_back(part);
  return parts;
}

WhyFigures WhyAnalysis::figures(const SessionInfo& info) const {
  std::vector<OffcpuRow> threads = this->threads();
  give_full_names(threads, names_, QueueOfWork::left_out);
  const AtEnd found = at_end(session_, info);
  WhyFigures figures = figures_of_sums(session_, found, threads, info, info.start + info.duration);
  figures.by = plan_.by;
  if (plan_.by != Whose::group) figures.groups = rows_of_time(info.names);
  find_purposes(figures.groups, plan_.by, threads, parts_by_purpose(found, info, threads));
  find_others_waits(figures.groups, plan_.by, threads, threads_.merged_threads() == 0,
                    holders_.waits(sampling_));
  return figures;
}

WhyFigures WhyAnalysis::interval_figures(const SessionInfo& info, Duration wall) const {
  SessionInfo of_interval = info;
  of_interval.duration = wall;
  std::vector<OffcpuRow> threads = interval_threads();
  give_full_names(threads, names_, QueueOfWork::left_out);
  return figures_of_sums(interval_, at_end(interval_, of_interval), threads, of_interval,
                         info.start + info.duration);
}

void WhyAnalysis::end_interval() {
  sampling_.end_interval();
  threads_.end_interval();
  Sums next({});
  next.blame = interval_.blame.next();
  next.answers = interval_.answers.next();
  interval_ = std::move(next);
}

std::set<std::uint32_t> WhyAnalysis::lock_waiters(const SessionInfo& info) const {
  std::set<std::uint32_t> pids = session_.blame.lock_waiters();
  for (const CallCause& one : retries(session_.calls.table(info.names, info.duration, {}), info))
    if (one.cause.lock_wanted_by != 0) pids.insert(one.cause.lock_wanted_by);
  return pids;
}

std::map<std::uint32_t, Shortage> WhyAnalysis::shortages(const SessionInfo& info) const {
  return overdue::shortages(session_.calls.table(info.names, info.duration, {}), info);
}

std::set<std::uint32_t> WhyAnalysis::reclaimers() const {
  std::set<std::uint32_t> pids = session_.blame.processes_with(cgroup_reclaim);
  pids.merge(session_.cpu.processes_with(std::string(cgroup_reclaim)));
  return pids;
}

std::vector<OpenWait> WhyAnalysis::open_waits(const std::vector<OffcpuRow>& threads) const {
  std::vector<OpenWait> waits = session_.blame.open_waits();
  for (const OffcpuRow& thread : threads)
    if (is_still_stopped(thread))
      waits.push_back({.pid = thread.pid, .tid = thread.tid, .is_stopped = true});
  return waits;
}

std::set<std::uint32_t> WhyAnalysis::disk_waiters() const {
  std::set<std::uint32_t> pids = session_.blame.processes_with("disk");
  pids.merge(session_.blame.processes_with(page_writeback));
  pids.merge(undecided_.processes_with("disk"));
  return pids;
}

void WhyAnalysis::end_call(std::uint32_t tid) {
  session_.blame.end_call(tid);
  purposes_.end_call(tid);
  if (has_intervals_) interval_.blame.end_call(tid);
}

std::set<AwaitedEnd> WhyAnalysis::awaited_ends() const {
  std::set<AwaitedEnd> ends = session_.blame.awaited_ends();
  ends.merge(session_.answers.awaited_ends());
  return ends;
}

std::vector<std::string> WhyAnalysis::notes() const {
  std::vector<std::string> notes = unnamed_.notes();
  if (const std::uint64_t count = sampling_.left_out())
    notes.push_back(
        fmt::format("late operations that were not examined, since equal ones were: {}; the totals "
                    "of their causes are estimates",
                    grouped(count)));
  if (const std::uint64_t count = session_.answers.dropped())
    notes.push_back(
        fmt::format("waits for input from sockets that were not examined: {}", grouped(count)));
  if (const std::uint64_t ns = session_.blame.merged_ns())
    notes.push_back(
        fmt::format("late time of causes too many to keep apart: {}", duration_text(ns)));
  if (const std::uint64_t ns = holders_.left_out_ns())
    notes.push_back(fmt::format("time in run queues behind threads too many to keep apart: {}",
                                duration_text(ns)));
  if (const std::uint64_t ns = session_.blame.unassigned_ns())
    notes.push_back(
        fmt::format("late time of threads too many to keep apart: {}", duration_text(ns)));
  return notes;
}

}  // namespace overdue
