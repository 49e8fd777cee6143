// `overdue demo`: ready-made workloads, each late for a known reason.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "sinks/output.h"
#include "source/program_end.h"
#include "source/say.h"
#include "source/stop_signals.h"
#include "target/spawn.h"

namespace overdue {
namespace {

struct Demo {
  std::string_view name;
  std::string_view what;
  std::string_view measure;  ///< overdue command that explains the demo, without a target
};

/// The only table of demos, each with the command that explains it.
constexpr Demo demos[] = {
    {"sleep", "sleeps of random length, by usleep()", "stalls -T 50ms"},
    {"mmap", "threads that fight over their address space's lock", "stalls -T 5ms"},
    {"io", "files created, written and brought to the disk",
     "stalls -T openat=5ms,write=5ms,fsync=5ms"},
    {"lock", "a mutex held by a known thread while others wait for it",
     "stalls -T 'thread:waiter-*=10ms'"},
    {"cpu", "more threads that want to run than one CPU can run",
     "stalls --span wakeup,offcpu -T thread:victim=5ms"},
    {"irq", "packets through 127.0.0.1 that steal a computing thread's time",
     "stalls --span softirq,irq -T 200us"},
};

/// The command line to type: `sudo overdue stalls … -- $(overdue demo --path sleep)`.
std::string in_one_go(const Demo& demo) {
  return fmt::format("sudo overdue {} -- $(overdue demo --path {})", demo.measure, demo.name);
}

std::string program_name(const Demo& demo) {
  return std::string(demo.name) + "-demo";
}

/// `sleep` and `sleep-demo` name the same demo.
const Demo& find_demo(std::string_view name) {
  std::array<std::string_view, std::size(demos)> names;
  std::ranges::transform(demos, names.begin(), &Demo::name);
  for (const Demo& demo : demos)
    if (name == demo.name || name == program_name(demo)) return demo;
  const std::string_view close = nearest(name, names);
  throw Error("no demo '{}'", printable(name))
      .hint(close.empty() ? "overdue demo lists them" : fmt::format("did you mean '{}'?", close))
      .exit_status(2);
}

/// The executable, installed or in the build tree, found from Overdue's own path, never by PATH.
std::string find_program(const Demo& demo) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) throw Error("cannot learn where overdue is: {}", error.message());
  const fs::path name = program_name(demo);
  const fs::path installed =
      (self.parent_path() / OVERDUE_DEMOS_INSTALLED / name).lexically_normal();
  const fs::path built = self.parent_path() / OVERDUE_DEMOS_BUILT / name;
  for (const fs::path& path : {installed, built})
    if (fs::is_regular_file(path, error)) return path.string();
  throw Error("cannot find {}: there is no {}", name.string(), printable(installed.string()))
      .hint("it is installed with overdue: make install, or the package")
      .exit_status(127);
}

void list_demos() {
  Output output(STDOUT_FILENO);
  for (const Demo& demo : demos)
    output.append(fmt::format("{:<6} {}\n       {}\n", demo.name, demo.what, in_one_go(demo)));
  output.flush();
}

int run_demo(const Demo& demo, std::vector<std::string> arguments,
             const InheritedState& inherited) {
  arguments.insert(arguments.begin(), find_program(demo));
  StopSignals signals;
  SpawnedProgram program(std::move(arguments), {.inherited = inherited});
  say("overdue: measure it in a second terminal: sudo overdue {} -p {}; or in one go: {}\n",
      demo.measure, program.pid(), in_one_go(demo));
  program.release();
  return pass_signals_until_end(program, signals);
}

class DemoCommand final : public Command {
 public:
  std::string_view name() const override { return "demo"; }
  Rights rights() const override { return Rights::caller; }

  void add_options(CLI::App& app) override {
    app_ = &app;
    app.add_option("name", name_);
    app.add_flag("--path", path_);
    app.prefix_command();  // the words after the name are the demo's
  }

  /// The words after `--` go to the demo too: `overdue demo sleep -- --help`.
  bool spawns(const Invocation& invocation) const override { return invocation.has_program; }

  int run(const Invocation& invocation) override {
    std::vector<std::string> arguments = app_->remaining();
    arguments.insert(arguments.end(), invocation.program.begin(), invocation.program.end());
    if (name_.empty() && (path_ || invocation.has_program))
      throw Error("which demo?").hint("overdue demo lists them").exit_status(2);
    if (!arguments.empty() && (name_.empty() || path_))
      throw Error("unknown argument '{}'", printable(arguments.front()))
          .hint("overdue demo NAME [ARGUMENT…], overdue demo --path NAME")
          .exit_status(2);
    if (name_.empty()) {
      list_demos();
      return 0;
    }
    const Demo& demo = find_demo(name_);
    if (!path_) return run_demo(demo, std::move(arguments), invocation.inherited);
    Output output(STDOUT_FILENO);
    output.append(find_program(demo) + '\n');
    output.flush();
    return 0;
  }

 private:
  CLI::App* app_ = nullptr;
  std::string name_;
  bool path_ = false;
};

}  // namespace

std::unique_ptr<Command> make_demo_command() {
  return std::make_unique<DemoCommand>();
}

}  // namespace overdue
