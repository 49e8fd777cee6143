// `overdue report`: the report of a trace file, in every view and format of the command that made
// the file, without root, on any machine.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/options.h"
#include "core/probe.h"
#include "core/recorded_stacks.h"
#include "live/debuginfod.h"
#include "live/own_measurements.h"
#include "live/recorded_stalls.h"
#include "live/span_choice.h"
#include "report/output.h"
#include "report/replay.h"
#include "report/spans/replay.h"
#include "report/stalls/flame.h"
#include "report/stalls/replay.h"
#include "report/syscalls/replay.h"
#include "resolve/file_names.h"
#include "sinks/make_sink.h"
#include "source/say.h"
#include "trace/reader.h"

namespace overdue {
namespace {

/// Throws Error if the report would overwrite the recording that it is made from.
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

Error no_stalls() {
  return Error("this recording has system calls, and nothing that explains them")
      .hint("overdue record -T 10ms, or overdue stalls -T 10ms --save FILE, records that")
      .exit_status(2);
}

std::vector<std::string> views() {
  std::vector<std::string> all = {"summary", "stalls", "spans", "hist", "trace"};
  all.insert(all.end(), OwnMeasurements::names.begin(), OwnMeasurements::names.end());
  return all;
}

bool is_own_measurement(std::string_view name) {
  return std::ranges::find(OwnMeasurements::names, name) != OwnMeasurements::names.end();
}

class ReportCommand final : public Command {
 public:
  std::string_view name() const override { return "report"; }
  Rights rights() const override { return Rights::caller; }

  void add_options(CLI::App& app) override {
    app.add_option("file", file_)->required();
    app.add_option("--view", shows_)->check(CLI::IsMember(views()));
    app_ = &app;
    add_view_options(app, view_);
    app.add_option("-T,--threshold", thresholds_)->allow_extra_args(false)->take_all();
    app.add_flag("--idle", stalls_.idle);
    app.add_option("--keep-under", stalls_.keep_under);
    app.add_option("--first", stalls_.first);
    app.add_option("--flame", flame_);
    app.add_flag("--lines", lines_);
    app.add_flag("--debuginfod", debuginfod_);
    app.add_option("--symbols", symbols_)->check(CLI::ExistingDirectory);
    add_output_options(app, output_, false);
  }

  int run(const Invocation& invocation) override {
    Fd file(file_ == "-" ? dup(STDIN_FILENO)
                         : open(file_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!file)
      throw Error("cannot open the recording {}: {}", printable(file_), errno_text(errno))
          .hint("`overdue record -o FILE -- COMMAND` makes one");
    refuse_own_input(output_, file.get());
    const std::vector<const Schema*> schemas = all_schemas();
    TraceReader reader(std::move(file), schemas, file_);
    const std::string& command = reader.info().command;
    const RecordedReport kind = report_of(reader.info());
    if (is_own_measurement(shows_)) {
      show_part(reader);
      return 0;
    }
    if (kind == RecordedReport::calls) view_.check();
    if (kind == RecordedReport::profile) {
      show_profile(reader);
      return 0;
    }
    if (kind != RecordedReport::calls) {
      const bool has_rows = kind == RecordedReport::offcpu || kind == RecordedReport::why ||
                            kind == RecordedReport::osnoise;
      refuse_options_of_calls(
          command, has_rows ? std::set<std::string_view>{"--by"} : std::set<std::string_view>{});
      if (shows_.empty()) shows_ = view_.histograms ? "hist" : "summary";
      replay_report(reader, "", shows_, word_of_by(), output_);
      return 0;
    }
    if (shows_.empty()) shows_ = default_view(reader.info());
    if (is_own_measurement(shows_)) {
      show_part(reader);
      return 0;
    }
    if (shows_ == "hist" || shows_ == "trace")
      throw Error("a recording of `overdue {}` has no view '{}'", printable(command), shows_)
          .hint("--view summary, stalls, spans")
          .exit_status(2);
    if (shows_ == "stalls")
      show_stalls(reader, invocation.inherited);
    else if (shows_ == "spans" || command == "spans")
      show_spans(reader);
    else
      show_calls(reader);
    return 0;
  }

 private:
  /// No given option may be ignored in silence.
  void refuse_options_of_calls(const std::string& command,
                               const std::set<std::string_view>& but) const {
    for (const char* const option :
         {"--only", "--by", "--sort", "--top", "--calls", "--discover", "--threshold", "--idle",
          "--keep-under", "--first", "--flame", "--lines", "--debuginfod", "--symbols"})
      if (app_->count(option) > 0 && !but.contains(option))
        throw Error("{} is for recordings of system calls and stalls; this one is of `overdue {}`",
                    option, printable(command))
            .hint("leave it out")
            .exit_status(2);
  }

  /// What `record` measured beside other events, as the command of that measurement shows it.
  void show_part(TraceReader& reader) {
    if (!has_part(reader.info(), shows_))
      throw Error("this recording has no {}", shows_)
          .hint(fmt::format("overdue record --events {} -d 10s", shows_))
          .exit_status(2);
    refuse_options_of_calls("record", shows_ == "osnoise" ? std::set<std::string_view>{"--by"}
                                                          : std::set<std::string_view>{});
    replay_report(reader, shows_, view_.histograms ? "hist" : "summary", word_of_by(), output_);
  }

  std::string default_view(const SessionInfo& info) const {
    if (!has_every_call(info) && !has_stalls(info))
      for (const std::string_view name : OwnMeasurements::names)
        if (has_part(info, name)) return std::string(name);
    if (info.command == "spans") return "summary";
    const bool wants_stalls = !thresholds_.empty() && !info.spans.empty();
    return has_every_call(info) && !wants_stalls ? "summary" : "stalls";
  }

  void narrow(const SessionInfo& info) {
    const std::vector<std::string> pairs = parse_spans(info.spans).pair_names();
    Thresholds asked = parse_thresholds(thresholds_, pairs);
    check_narrower(asked, stalls_.thresholds, stalls_.spans);
    stalls_.thresholds = std::move(asked);
    stalls_.narrowed = true;
  }

  /// Reports but that of system calls have rows by one word.
  std::string word_of_by() const {
    if (view_.by.size() > 1) throw Error("--by takes one word here").exit_status(2);
    return view_.by.empty() ? "" : view_.by.front();
  }

  void show_profile(TraceReader& reader) {
    refuse_options_of_calls("profile", {"--by", "--top", "--flame"});
    if (view_.histograms || (!shows_.empty() && shows_ != "summary"))
      throw Error("a recording of `overdue profile` has a summary only")
          .hint("--view summary")
          .exit_status(2);
    ProfilePlan plan{.top = view_.row_limit(), .flame = flame_};
    if (!view_.by.empty()) choose_rows(plan, word_of_by());
    replay_profile(reader, std::move(plan), output_);
  }

  void show_calls(TraceReader& reader) {
    if (!thresholds_.empty() && has_stalls(reader.info()))
      throw Error("-T is for stalls, and this view shows all calls")
          .hint("--view stalls")
          .exit_status(2);
    if (!thresholds_.empty()) throw no_stalls();
    if (const SessionInfo& info = reader.info(); info.command == "record" && !has_every_call(info))
      throw Error("this recording has no system calls").hint("--view stalls").exit_status(2);
    if (view_.calls) refuse_stream_on_page(output_.format, "--calls");
    std::optional<SyscallSet> wanted = view_.wanted(reader.info().names);
    ReportOutput report = open_report(output_, false, view_.calls);
    SyscallView view(view_, std::move(wanted), *report.sink);
    SyscallReplay replay(view);
    reader.replay(replay);
    report.output->close();
  }

  void show_spans(TraceReader& reader) {
    take_recorded(reader.info(), stalls_);
    const GroupBy by = view_.group_by();
    if (by != GroupBy{.thread = by.thread})
      throw Error("--view spans has rows by thread only").hint("--by thread").exit_status(2);
    SpanViewOptions options{.kinds = stalls_.spans,
                            .cpus = stalls_.cpus,
                            .by_thread = by.thread,
                            .sort = view_.sort_column(),
                            .top = view_.row_limit(),
                            .histograms = view_.histograms};
    std::erase(options.kinds, SPAN_SYSCALL);
    if (options.kinds.empty())
      throw Error("this recording has no spans but system calls")
          .hint("--view summary")
          .exit_status(2);
    ReportOutput report = open_report(output_, false, false);
    RecordedStacks stacks;
    const bool has_all = stalls_.thresholds.are_of_every_span(options.kinds);
    SpanView view(std::move(options), stacks, *report.sink);
    SpanReplay replay(view, stacks, has_all ? "" : to_text(stalls_.thresholds));
    reader.replay(replay);
    report.output->close();
  }

  void show_stalls(TraceReader& reader, const InheritedState& inherited) {
    if (!has_stalls(reader.info())) throw no_stalls();
    take_recorded(reader.info(), stalls_);
    if (!thresholds_.empty()) narrow(reader.info());
    if (output_.format != "text") stalls_.first = 0;
    ReportOutput report = open_report(output_, false, true);
    std::optional<Debuginfod> debuginfod;
    if (debuginfod_) debuginfod.emplace(DebuginfodOptions::current(inherited));
    const FetchDebugFile fetch = [&](const std::string& id) {
      return debuginfod ? debuginfod->find(id) : Fd();
    };
    std::optional<FileNames> files;
    try {
      files.emplace(FileNames::Options{.lines = lines_, .fetch = fetch, .directory = symbols_});
    } catch (const Error& error) {
      if (lines_) throw;
      say("overdue: frames that the recording has no names for stay without: {}\n", error.what());
    }
    RecordedStacks stacks([&](StackFrame frame) {
      return files ? files->named(std::move(frame)) : Stack{std::move(frame)};
    });
    std::optional<FlameSink> drawing;
    if (!flame_.empty()) drawing.emplace(flame_, flame_format_of(flame_));
    StallView view(stalls_, stacks, *report.sink, drawing ? &*drawing : nullptr);
    StallReplay replay(view, stacks);
    if (debuginfod) replay.more_notes = [&] { return debuginfod->notes(); };
    reader.replay(replay);
    report.output->close();
  }

  const CLI::App* app_ = nullptr;  ///< counts the given options
  std::string file_;
  std::string shows_;  ///< value of --view
  std::vector<std::string> thresholds_;
  StallViewOptions stalls_;
  std::string flame_;
  bool lines_ = false;
  bool debuginfod_ = false;
  std::string symbols_;  ///< folder with symbol files
  ViewOptions view_;
  OutputOptions output_;
};

}  // namespace

std::unique_ptr<Command> make_report_command() {
  return std::make_unique<ReportCommand>();
}

}  // namespace overdue
