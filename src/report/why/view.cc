#include "report/why/view.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "bpf/profile.h"
#include "probes/spans.h"
#include "report/profile/sample_stacks.h"
#include "report/why/call_causes.h"
#include "report/why/figures.h"
#include "report/why/sections.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

StallViewOptions every_finding(const WhyPlan& plan, std::function<void(const Finding&)> on_finding,
                               std::function<void(const Finding&)> on_left_out) {
  StallViewOptions options;
  options.thresholds.general = plan.threshold;
  options.timeout = plan.timeout;
  options.spans = plan.spans;
  options.cpus = plan.cpus;
  options.sums = false;
  options.on_finding = std::move(on_finding);
  options.on_left_out = std::move(on_left_out);
  return options;
}

constexpr std::uint64_t longest_time = std::uint64_t{1} << 62;  // ns

}  // namespace

void choose_rows(WhyPlan& plan, std::string_view word) {
  check_whose(word, why_words);
  plan.by = whose_named(word).value_or(Whose::group);
}

KeptOptions kept_options(const WhyPlan& plan) {
  return {{"threshold_ns", std::to_string(plan.threshold.count())},
          {"timeout_ns", std::to_string(plan.timeout.count())},
          {"by", std::to_string(static_cast<int>(plan.by))},
          {"top", std::to_string(plan.top)}};
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
  return plan;
}

WhyView::WhyView(WhyPlan plan, const OutputOptions& output, StackNamer& namer)
    : plan_(std::move(plan)),
      options_(output),
      namer_(namer),
      stalls_(every_finding(
                  plan_, [this](const Finding& finding) { take(finding); },
                  [this](const Finding& finding) { answers_.add(finding); }),
              namer, no_sink_) {}

void WhyView::begin(const SessionInfo& info) {
  report_ = open_report(options_, plan_.spawned, false);
  report_.sink->begin(info);
  names_ = info.names;
  answers_ = Answers(info.target.kind == "command");
  stalls_.begin(info);
}

void WhyView::take(const Finding& finding) {
  if (Answers::decide(finding))
    answers_.add(finding);
  else
    blame_.add(finding, sampling_.class_of(finding));
}

void WhyView::record(const Record& record) {
  now_ = std::max(now_, KernelTime(Duration(record.header().time_ns)));
  switch (record.schema->id) {
    case RECORD_OFFCPU_THREAD:
    case RECORD_OFFCPU_DISPLACER:
      return threads_.add(record);
    case RECORD_SYSCALL_CELL:
      return calls_.add(record);
    case RECORD_DISK_USE:
      return disks_.add(record);
    case RECORD_PROFILE_CPU:
      return;
    case RECORD_PROFILE_SAMPLE: {
      const auto sample = record.as<profile_sample>();
      const auto& [kernel, user] = stacks_of_sample(record, namer_);
      return cpu_.add(sample.header.pid, fixed_text(sample.header.comm), kernel, user.frames);
    }
    case RECORD_SPAN: {
      const auto span = record.as<span_record>();
      if ((span.flags & SPAN_OPEN) || sampling_.wants(span, names_)) stalls_.record(record);
      return;
    }
    default:
      stalls_.record(record);
  }
}

std::set<std::uint32_t> WhyView::lock_waiters(const SessionInfo& info) const {
  std::set<std::uint32_t> pids = blame_.lock_waiters();
  for (const CallCause& one : retries(calls_.table(info.names, info.duration, {}), info))
    if (one.cause.lock_wanted_by != 0) pids.insert(one.cause.lock_wanted_by);
  return pids;
}

/// Most time on the CPU, uninterruptible or runnable first.
std::vector<OffcpuRow> WhyView::rows_of_time(const Names& names) const {
  std::vector<OffcpuRow> rows = threads_.rows(plan_.by);
  complete_rows(rows, plan_.by, names);
  std::ranges::sort(rows, std::ranges::greater(),
                    [](const OffcpuRow& row) { return row.oncpu_ns + row.waiting_ns(); });
  return rows;
}

void WhyView::end(const SessionInfo& info, const Receipt& receipt) {
  SessionInfo shown = info;
  stalls_.end(info, receipt);
  const std::vector<OffcpuRow> threads = threads_.rows(Whose::thread);
  std::map<std::uint32_t, std::uint64_t> open_ns;
  for (const OffcpuRow& thread : threads) open_ns[thread.tid] = thread.open_ns;
  const LatencyTable calls = calls_.table(info.names, info.duration, {});
  for (const Finding& finding : answers_.late(calls, kept_opened_sockets(info)))
    blame_.add(finding, sampling_.class_of(finding));
  blame_.finish(info.start + info.duration, open_ns);
  const std::vector<FileLock> locks = kept_file_locks(info);
  const std::vector<OtherSide> sides = kept_other_sides(info);
  WhyFigures figures =
      figures_of({.info = info,
                  .threads = threads,
                  .blame = blame_,
                  .sampling = sampling_,
                  .cpu = cpu_,
                  .calls = calls,
                  .locks = locks,
                  .sides = sides,
                  .disks = disks_,
                  .threshold_ns = static_cast<std::uint64_t>(plan_.threshold.count())});
  figures.top = plan_.top;
  figures.by = plan_.by;
  if (plan_.by != Whose::group) figures.groups = rows_of_time(info.names);
  if (const std::uint64_t count = sampling_.left_out())
    shown.notes.push_back(
        fmt::format("late operations that were not examined, since equal ones were: {}; the totals "
                    "of their causes are estimates",
                    grouped(count)));
  if (const std::uint64_t ns = blame_.merged_ns())
    shown.notes.push_back(
        fmt::format("late time of causes too many to keep apart: {}", duration_text(ns)));
  if (const std::uint64_t count = answers_.dropped())
    shown.notes.push_back(
        fmt::format("waits for input from sockets that were not examined: {}", grouped(count)));
  report_.sink->section(std::make_shared<WhySection>(std::move(figures)));
  report_.sink->end(shown, receipt);
  report_.output->close();
}

}  // namespace overdue
