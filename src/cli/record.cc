// `overdue record`: writes every event into a trace file, for `overdue report`.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/options.h"
#include "live/syscall_probe_set.h"
#include "sinks/text_format.h"
#include "source/measure.h"
#include "source/say.h"
#include "syscalls/classes.h"
#include "target/output_file.h"
#include "trace/writer.h"

namespace overdue {
namespace {

/// The destination of the trace: a file, or standard output, read by `overdue report -`.
Fd open_trace(const std::string& file) {
  if (file != "-") return create_output_file(file);
  return Fd(
      check_errno(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0), "cannot write to standard output"));
}

class Recorder final : public MeasureListener {
 public:
  explicit Recorder(std::string file) : file_(std::move(file)) {}

  // Opens the file only now: a recording that cannot begin must not destroy an older one.
  void begin(const SessionInfo& info) override {
    trace_ =
        std::make_unique<TraceWriter>(open_trace(file_), syscalls_probe.schemas, printable(file_));
    trace_->begin(info);
  }
  void record(const Record& record) override { trace_->record(record); }
  void interval(const SessionInfo&, Duration) override {}
  void tick() override { trace_->flush(); }
  void end(const SessionInfo& info, const Receipt& receipt) override {
    trace_->end(info, receipt);
    receipt_ = receipt_lines(info, receipt);
  }

  void print_receipt() const {
    for (const std::string& line : receipt_) say("overdue: {}\n", line);
    say("overdue: {:.1f} MB in {}; read it with: overdue report {}\n",
        static_cast<double>(trace_->bytes_written()) / 1e6, printable(file_), printable(file_));
  }

 private:
  std::string file_;
  std::unique_ptr<TraceWriter> trace_;  ///< set by begin()
  std::vector<std::string> receipt_;
};

class RecordCommand final : public Command {
 public:
  std::string_view name() const override { return "record"; }

  void add_options(CLI::App& app) override {
    add_target_options(app, target_);
    add_stop_options(app, stop_);
    add_kernel_options(app, kernel_);
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
  KernelOptions kernel_;
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
  if (file_ == "-" && (invocation.has_program || isatty(STDOUT_FILENO) == 1))
    throw Error("cannot record to standard output: {}",
                invocation.has_program ? "it is the program's" : "it is a terminal")
        .hint(invocation.has_program ? "-o FILE.odt, then overdue report FILE.odt"
                                     : "overdue record -o - … | overdue report -")
        .exit_status(2);
  if (invocation.has_program && invocation.program.empty())
    throw Error("no program after '--'").hint("overdue record -- ls -l").exit_status(2);
  target_.command = invocation.program;
  MeasureRequest request;
  request.command = "record";
  request.selection = parse_target(target_);
  request.inherited = invocation.inherited;
  request.duration = stop_.parsed();
  request.quiet = quiet_;
  request.verbose = verbose_;
  request.by_container = true;
  SyscallsOptions options;
  options.aggregate = false;
  options.calls = true;
  if (!only_.empty()) options.only = parse_syscall_set(only_, {});
  SyscallProbeSet probe_set(options, {}, buffer_ ? parse_buffer_size(*buffer_) : 0);
  Recorder recorder(file_);
  const int status = measure(request, *kernel_.open(), probe_set, recorder);
  if (!quiet_) recorder.print_receipt();
  return status;
}

}  // namespace

std::unique_ptr<Command> make_record_command() {
  return std::make_unique<RecordCommand>();
}

}  // namespace overdue
