// `overdue report`: a trace file in every view and format of `syscalls`, without root, on any
// machine.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/report_output.h"
#include "cli/syscall_view.h"
#include "core/probe.h"
#include "trace/reader.h"

namespace overdue {
namespace {

/// Gives what a file replays to the same view a live run uses.
class Replay final : public Sink {
 public:
  explicit Replay(SyscallView& view) : view_(view) {}
  void begin(const SessionInfo& info) override { view_.begin(info); }
  void record(const Record& record) override { view_.record(record); }
  void end(const SessionInfo& info, const Receipt& receipt) override { view_.end(info, receipt); }

 private:
  SyscallView& view_;
};

/// Throws Error where the report would go into the recording it is made from.
void refuse_own_input(const OutputOptions& options, int input) {
  struct stat from{}, to{};
  const bool to_file = !options.file.empty() && options.file != "-";
  const int found = to_file ? stat(options.file.c_str(), &to) : fstat(STDOUT_FILENO, &to);
  if (found != 0 || fstat(input, &from) != 0 || !S_ISREG(from.st_mode)) return;
  if (from.st_dev != to.st_dev || from.st_ino != to.st_ino) return;
  throw Error("cannot write the report to {}: it is the recording itself",
              to_file ? printable(options.file) : "standard output")
      .hint("name another file with -o")
      .exit_status(2);
}

class ReportCommand final : public Command {
 public:
  std::string_view name() const override { return "report"; }

  void add_options(CLI::App& app) override {
    app.add_option("file", file_)->required();
    add_view_options(app, view_);
    add_output_options(app, output_, false);
  }

  int run(const Invocation&) override {
    view_.check();
    Fd file(file_ == "-" ? dup(STDIN_FILENO)
                         : open(file_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!file)
      throw Error("cannot open the recording {}: {}", printable(file_), errno_text(errno))
          .hint("`overdue record -o FILE -- COMMAND` makes one");
    refuse_own_input(output_, file.get());
    const std::vector<const Schema*> schemas = all_schemas();
    TraceReader reader(std::move(file), schemas, file_);
    std::optional<SyscallSet> wanted = view_.wanted(reader.info().names);
    ReportOutput report = open_report(output_, false, view_.calls);
    SyscallView view(view_, std::move(wanted), *report.sink);
    Replay replay(view);
    reader.replay(replay);
    report.output->close();
    return 0;
  }

 private:
  std::string file_;
  ViewOptions view_;
  OutputOptions output_;
};

}  // namespace

std::unique_ptr<Command> make_report_command() {
  return std::make_unique<ReportCommand>();
}

}  // namespace overdue
