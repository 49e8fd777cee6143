// `overdue record`: every event into a trace file, for `overdue report`.
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/output_file.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/measure.h"
#include "cli/options.h"
#include "probes/syscalls/classes.h"
#include "trace/writer.h"

namespace overdue {
namespace {

class Recorder final : public MeasureListener {
 public:
  explicit Recorder(TraceWriter& trace) : trace_(trace) {}

  void begin(const SessionInfo& info) override { trace_.begin(info); }
  void record(const Record& record) override { trace_.record(record); }
  void discovered(const SyscallSet&) override {}
  void interval(const SessionInfo&, Duration) override {}
  void tick() override { trace_.flush(); }
  void end(const SessionInfo& info, const Receipt& receipt) override {
    trace_.end(info, receipt);
    receipt_ = receipt;
  }
  const Receipt& receipt() const { return receipt_; }

 private:
  TraceWriter& trace_;
  Receipt receipt_;
};

class RecordCommand final : public Command {
 public:
  std::string_view name() const override { return "record"; }

  void add_options(CLI::App& app) override {
    add_target_options(app, target_);
    add_stop_options(app, stop_);
    app.add_option("-o,--output", file_);
    app.add_option("--events", events_)->allow_extra_args(false)->take_all();
    app.add_option("-e,--only", only_)->allow_extra_args(false)->take_all();
    app.add_option("--buffer", buffer_);
    app.add_flag("-q,--quiet", quiet_);
    app.add_flag("-v,--verbose", verbose_);
  }

  int run(const Invocation& invocation) override;
  bool spawns(const Invocation& invocation) const override { return invocation.has_program; }

 private:
  void check_events() const;

  TargetOptions target_;
  StopOptions stop_;
  std::string file_ = "overdue.odt";
  std::vector<std::string> events_;
  std::vector<std::string> only_;
  std::optional<std::string> buffer_;
  bool quiet_ = false;
  bool verbose_ = false;
};

void RecordCommand::check_events() const {
  for (const std::string& list : events_)
    for (const std::string_view event : split(list, ','))
      if (event != "syscalls")
        throw Error("this version cannot record '{}'", printable(event))
            .hint("--events syscalls is what there is; `overdue probes` lists the probes")
            .exit_status(2);
}

int RecordCommand::run(const Invocation& invocation) {
  check_events();
  if (invocation.has_program && invocation.program.empty())
    throw Error("no program after '--'").hint("overdue record -- ls -l").exit_status(2);
  target_.command = invocation.program;
  MeasureRequest request;
  request.command = "record";
  request.selection = parse_target(target_);
  request.inherited = invocation.inherited;
  request.duration = stop_.parsed();
  request.quiet = quiet_;
  request.probe.aggregate = false;
  request.probe.calls = true;
  if (!only_.empty()) request.probe.only = parse_syscall_set(only_, {});
  request.ring_bytes = buffer_ ? parse_buffer_size(*buffer_) : 0;
  TraceWriter trace(create_output_file(file_), syscalls_probe.schemas, file_);
  Recorder recorder(trace);
  const int status = measure(request, recorder);
  if (!quiet_) {
    const Receipt& receipt = recorder.receipt();
    fmt::print(
        stderr,
        "overdue: {} calls recorded in {} ({:.1f} MB), {} lost; read it with: overdue report {}\n",
        receipt.events, printable(file_), static_cast<double>(trace.bytes_written()) / 1e6,
        receipt.lost(), printable(file_));
  }
  return status;
}

}  // namespace

std::unique_ptr<Command> make_record_command() {
  return std::make_unique<RecordCommand>();
}

}  // namespace overdue
