// `overdue record`: writes every event into a trace file, for `overdue report`.
#include <unistd.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/measure_request.h"
#include "cli/options.h"
#include "core/span_kinds.h"
#include "live/event_choice.h"
#include "live/event_finder.h"
#include "live/joint_probe_set.h"
#include "live/live_stacks.h"
#include "live/naming_listener.h"
#include "live/own_measurements.h"
#include "live/stall_probe_set.h"
#include "live/syscall_probe_set.h"
#include "report/replay.h"
#include "resolve/kernel_stacks.h"
#include "sinks/text_format.h"
#include "source/measure.h"
#include "source/say.h"
#include "source/trace_saver.h"
#include "syscalls/classes.h"
#include "target/cpu_list.h"

namespace overdue {
namespace {

/// Keeps what the session ends with. The listener around it writes the file.
class ReceiptKeeper final : public MeasureListener {
 public:
  /// `own` must outlive this object.
  explicit ReceiptKeeper(OwnMeasurements& own) : own_(own) {}

  void begin(const SessionInfo&) override {}
  void record(const Record& record) override { own_.recorded(record); }
  void interval(const SessionInfo&, Duration) override {}
  void tick() override {}
  void end(const SessionInfo& info, const Receipt& receipt) override {
    receipt_ = receipt_lines(info, receipt);
  }

  void print(const std::string& file, std::uint64_t bytes) const {
    for (const std::string& line : receipt_) say("overdue: {}\n", line);
    say("overdue: {:.1f} MB in {}; read it with: overdue report {}\n",
        static_cast<double>(bytes) / 1e6, printable(file), printable(file));
  }

 private:
  OwnMeasurements& own_;
  std::vector<std::string> receipt_;
};

class RecordCommand final : public Command {
 public:
  std::string_view name() const override { return "record"; }

  void add_options(CLI::App& app) override {
    add_target_options(app, target_);
    add_stop_options(app, stop_);
    add_stack_options(app, stack_options_);
    add_kernel_options(app, kernel_);
    app.add_option("-o,--output", file_);
    app.add_option("--events", events_)->allow_extra_args(false)->take_all();
    app.add_option("-T,--threshold", thresholds_)->allow_extra_args(false)->take_all();
    app.add_option("-e,--only", only_)->allow_extra_args(false)->take_all();
    app.add_option("--user-stack-bytes", user_stack_);
    app.add_flag("--no-resolve", no_resolve_);
    app.add_option("--buffer", buffer_);
    app.add_flag("-q,--quiet", quiet_);
    app.add_flag("-v,--verbose", verbose_);
  }

  int run(const Invocation& invocation) override;
  bool spawns(const Invocation& invocation) const override { return invocation.has_program; }

 private:
  void check(const Invocation& invocation) const;
  int record_calls(MeasureRequest& request, const EventChoice& events) const;
  int record_spans(MeasureRequest& request, const EventChoice& events) const;
  /// The spans, and the threshold of each: without one, every span. Notes both in `request`.
  StallOptions choose_spans(MeasureRequest& request, const EventChoice& events) const;
  /// Records what `probe_set` measures, unless it is null, and `own`. `listener` writes the file,
  /// and hands all on to `receipt`.
  template <typename Listener>
  int record(MeasureRequest& request, ProbeSet* probe_set, const OwnMeasurements& own,
             Listener& listener, const ReceiptKeeper& receipt) const {
    std::vector<ProbeSet*> sets = own.probe_sets();
    if (probe_set) sets.insert(sets.begin(), probe_set);
    request.options.merge(own.options());
    JointProbeSet joint(sets);
    const int status =
        measure(request, *kernel_.open(), sets.size() == 1 ? *sets.front() : joint, listener);
    own.check_starved();
    if (!quiet_) receipt.print(file_, listener.bytes_written());
    return status;
  }
  std::size_t ring_bytes() const { return buffer_ ? parse_buffer_size(*buffer_) : 0; }

  TargetOptions target_;
  StopOptions stop_;
  StackOptions stack_options_;
  KernelOptions kernel_;
  std::string file_ = "overdue.odt";
  std::vector<std::string> events_;
  std::vector<std::string> thresholds_;
  std::vector<std::string> only_;
  std::optional<std::uint32_t> user_stack_;
  bool no_resolve_ = false;
  std::optional<std::string> buffer_;
  bool quiet_ = false;
  bool verbose_ = false;
};

void RecordCommand::check(const Invocation& invocation) const {
  if (file_ == "-" && (invocation.has_program || isatty(STDOUT_FILENO) == 1))
    throw Error("cannot record to standard output: {}",
                invocation.has_program ? "it is the program's" : "it is a terminal")
        .hint(invocation.has_program ? "-o FILE.odt, then overdue report FILE.odt"
                                     : "overdue record -o - … | overdue report -")
        .exit_status(2);
  check_program(invocation, "overdue record -- ls -l");
  check_user_stack(user_stack_.value_or(0));
}

int RecordCommand::run(const Invocation& invocation) {
  const EventChoice events = parse_events(events_);
  check(invocation);
  MeasureRequest request = request_of_target("record", invocation, target_, stop_, {});
  request.notes = asked_jvms(stack_options_, request.selection);
  request.quiet = quiet_;
  request.verbose = verbose_;
  request.by_container = true;
  request.only = only_;
  return events.spans.empty() && thresholds_.empty() ? record_calls(request, events)
                                                     : record_spans(request, events);
}

/// The measurements of `events` that have commands of their own.
OwnMeasurements own_of(const EventChoice& events, const TargetSelection& selection) {
  return {events.own, selection.cpus.empty() ? online_cpus() : selection.cpus,
          selection.kind == TargetKind::all};
}

int RecordCommand::record_calls(MeasureRequest& request, const EventChoice& events) const {
  SyscallsOptions options;
  options.aggregate = false;
  options.calls = true;
  if (!only_.empty()) options.only = parse_syscall_set(only_, {});
  SyscallProbeSet probe_set(options, {}, ring_bytes());
  OwnMeasurements own = own_of(events, request.selection);
  ReceiptKeeper receipt(own);
  if (events.own.empty()) {
    SavingListener saving(receipt, file_, nullptr, syscalls_probe.schemas);
    return record(request, &probe_set, own, saving, receipt);
  }
  if (!events.calls) request.options[only_own] = "1";
  KernelStacks stacks;
  SavingListener saving(receipt, file_, &stacks);
  return record(request, events.calls ? &probe_set : nullptr, own, saving, receipt);
}

/// The spans, and the threshold of each: without one, every span. Notes both in `request`.
StallOptions RecordCommand::choose_spans(MeasureRequest& request, const EventChoice& events) const {
  StallOptions options;
  options.purpose = "record spans";
  request.spans = events.spans;
  if (!events.spans.empty()) options.spans = parse_spans(events.spans);
  const std::vector<std::string> pairs = options.spans.pair_names();
  if (!thresholds_.empty()) options.thresholds = parse_thresholds(thresholds_, pairs);
  if (events.calls &&
      (options.thresholds.of(SPAN_SYSCALL) || !options.thresholds.by_call.empty())) {
    request.spans.emplace_back(span_name(SPAN_SYSCALL));
    options.spans = parse_spans(request.spans);
  }
  request.thresholds = thresholds_;
  for (const span_kind kind : options.spans.kinds)
    if (kind != SPAN_PAIR && !options.thresholds.least_of(kind))
      request.thresholds.push_back(fmt::format("{}=1ns", span_name(kind)));
  for (const std::string& pair : pairs)
    if (!options.thresholds.general && !options.thresholds.by_pair.contains(pair))
      request.thresholds.push_back(pair + "=1ns");
  options.spans.optional |= events.of_groups;
  options.thresholds = parse_thresholds(request.thresholds, pairs);
  options.thresholds.check(options.spans.kinds, pairs);
  options.thresholds.check_times();
  return options;
}

int RecordCommand::record_spans(MeasureRequest& request, const EventChoice& events) const {
  StallOptions options = choose_spans(request, events);
  options.every_call = events.calls;
  if (!only_.empty() && !events.calls && !options.spans.has(SPAN_SYSCALL))
    throw Error("-e is about system calls, and those are not recorded")
        .hint("--events syscalls,…")
        .exit_status(2);
  if (!only_.empty()) options.only = parse_syscall_set(only_, {});
  // A stack for every span of a busy machine is more than a disk can take.
  options.user_stack_bytes = user_stack_.value_or(thresholds_.empty() ? 0 : 16 << 10);
  options.ring_bytes = ring_bytes();
  options.whole_machine = request.selection.kind == TargetKind::all;
  prepare_user_spans(options, request.selection, !stack_options_.no_sandbox);
  if (events.calls) request.options = {{"every_call", "1"}};
  LiveStacks stacks({.sandbox = !stack_options_.no_sandbox, .names = !no_resolve_});
  StallProbeSet probe_set(std::move(options));
  OwnMeasurements own = own_of(events, request.selection);
  ReceiptKeeper receipt(own);
  NamingListener naming(receipt, stacks, file_);
  return record(request, &probe_set, own, naming, receipt);
}

}  // namespace

std::unique_ptr<Command> make_record_command() {
  return std::make_unique<RecordCommand>();
}

}  // namespace overdue
