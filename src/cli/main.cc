#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/start_memory.h"
#include "base/text.h"
#include "base/thread_rights.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/options_file.h"
#include "cli/version.h"
#include "sinks/output.h"
#include "source/say.h"
#include "target/identity.h"
#include "target/own_rights.h"

namespace overdue {
namespace {

constexpr int usage_status = 2;
constexpr int own_failure_status = 125;

/// `argv`, decomposed: the command's name, its own words, and the words after `--`.
struct CommandLine {
  std::string command;
  std::vector<std::string> words;
  Invocation invocation;
};

/// `overdue -p 4711` and `overdue -- make` ask why.
bool names_no_command(const CommandLine& line) {
  constexpr std::string_view of_overdue[] = {"-h", "--help", "-V", "--version"};
  if (line.words.empty()) return line.invocation.has_program;
  const std::string& first = line.words.front();
  return first.starts_with('-') && std::ranges::find(of_overdue, first) == std::end(of_overdue);
}

CommandLine take_apart(int argc, char** argv, const InheritedState& inherited) {
  CommandLine line;
  line.invocation.inherited = inherited;
  const std::vector<std::string> all(argv + 1, argv + argc);
  const auto dashes = std::find(all.begin(), all.end(), "--");
  line.words.assign(all.begin(), dashes);
  if (dashes != all.end()) {
    line.invocation.has_program = true;
    line.invocation.program.assign(dashes + 1, all.end());
  }
  if (names_no_command(line)) {
    line.command = "why";
  } else if (!line.words.empty()) {
    line.command = line.words.front();
    line.words.erase(line.words.begin());
  }
  return line;
}

bool asks_for_help(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(),
                     [](const std::string& word) { return word == "-h" || word == "--help"; });
}

/// The option of the command that the user may have meant by an unknown word; empty if none.
std::string nearest_option(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  return std::string(nearest(word, views));
}

Error usage_error(const CLI::App& app, const Command& command, const CLI::ParseError& error) {
  std::string message = error.what();
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::string hint = fmt::format("overdue {} --help", command.name());
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    for (const std::string& word : app.remaining()) {
      message = fmt::format("unknown {} '{}'", word.starts_with('-') ? "option" : "argument",
                            printable(word));
      if (const std::string close = nearest_option(app, word); !close.empty())
        hint = fmt::format("did you mean {}?", close);
      else if (!word.starts_with('-'))
        hint = fmt::format("a program to run comes after --: overdue {} -- {}", command.name(),
                           printable(word));
      break;
    }
  }
  return Error("{}", printable(message)).hint(hint).exit_status(usage_status);
}

Error unknown_command(const std::string& name) {
  if (std::ranges::find(planned_commands, name) != planned_commands.end())
    return Error("'{}' is not in this version ({})", name, OVERDUE_VERSION)
        .hint("overdue help lists what there is")
        .exit_status(usage_status);
  std::vector<std::string_view> names;
  const auto commands = all_commands();
  for (const auto& command : commands) names.push_back(command->name());
  const std::string_view close = nearest(name, names);
  return Error("unknown command '{}'", printable(name))
      .hint(close.empty() ? "overdue help" : fmt::format("did you mean 'overdue {}'?", close))
      .exit_status(usage_status);
}

Error runs_no_program(const Command& command) {
  return Error("'{}' runs no program: nothing can follow '--'", command.name())
      .hint(fmt::format("overdue {} --help", command.name()))
      .exit_status(usage_status);
}

void print(std::string_view text) {
  Output output(STDOUT_FILENO);
  output.append(text);
  output.flush();
}

/// The identity of the caller takes a process to find out: only if the rights depend on it.
void drop_rights(Rights needed) {
  overdue::drop_rights(needed, needed == Rights::caller
                                   ? choose_identity(IdentityRequest::current(std::nullopt))
                                   : std::nullopt);
}

void parse(CLI::App& app, const Command& command, std::vector<std::string> words) {
  std::ranges::reverse(words);  // the order that CLI11 takes
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    throw usage_error(app, command, error);
  }
}

int run_command(Command& command, const CommandLine& line) {
  CLI::App app;
  app.set_help_flag();
  app.name(std::string(command.name()));
  command.add_options(app);
  std::string options_path;
  add_options_file(app, options_path);
  // Some commands keep no right to become the caller, with whose rights the file is opened.
  std::optional<OptionsFile> file = OptionsFile::named_in(app, line.words);
  drop_rights(command.rights());
  std::vector<std::string> words;
  if (file) words = file->words_beside(app, line.words, line.invocation.has_program);
  words.insert(words.end(), line.words.begin(), line.words.end());
  try {
    parse(app, command, std::move(words));
    return command.run(line.invocation);
  } catch (const Error& error) {
    if (!file) throw;
    throw file->located(error);
  }
}

bool is_verbose(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(),
                     [](const std::string& word) { return word == "-v" || word == "--verbose"; });
}

int report_failure(const Error& error, bool spawns, bool verbose) {
  if (error.is_silent()) return error.exit_status();
  if (verbose) say("{}", error.log());
  say("overdue: {}\n", error.what());
  if (!error.hint().empty()) say("hint: {}\n", error.hint());
  if (spawns && error.exit_status() == 1) return own_failure_status;
  return error.exit_status();
}

int run(int argc, char** argv, const InheritedState& inherited) {
  const CommandLine line = take_apart(argc, argv, inherited);
  bool spawns = false;
  try {
    if (line.command.empty()) {
      say("{}", help_text("overdue"));
      return usage_status;
    }
    if (line.command == "--version" || line.command == "-V") {
      print(version_text(is_verbose(line.words)));
      return 0;
    }
    if (line.command == "-h" || line.command == "--help") {
      print(help_text("overdue"));
      return 0;
    }
    for (const auto& command : all_commands()) {
      if (command->name() != line.command) continue;
      if (asks_for_help(line.words)) {
        print(help_text(line.command));
        return 0;
      }
      spawns = command->spawns(line.invocation);
      if (line.invocation.has_program && !spawns) throw runs_no_program(*command);
      return run_command(*command, line);
    }
    throw unknown_command(line.command);
  } catch (const Error& error) {
    return report_failure(error, spawns, is_verbose(line.words));
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again)
      return report_failure(Error("unexpected failure: {}", printable(error.what())), spawns,
                            false);
    return report_failure(Error("cannot start a thread: as many run as are allowed")
                              .hint("ulimit -u, and pids.max of the control group"),
                          spawns, false);
  } catch (const std::bad_alloc&) {
    return report_failure(Error("out of memory"), spawns, false);
  } catch (const std::exception& error) {
    return report_failure(Error("unexpected failure: {}", printable(error.what())), spawns, false);
  }
}

/// If the caller has closed a standard stream, the next file that Overdue opens would take its
/// place, and text for a terminal would go there. A file that cannot be read (or written) takes the
/// place instead: its use is an error with a message. Programs that Overdue starts find the stream
/// closed, as the caller wanted.
void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1) continue;
    // open() takes the lowest free number: this one. Some chroots have no /dev.
    const int mode = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", mode | O_CLOEXEC) < 0 && open("/", O_PATH | O_CLOEXEC) < 0) _exit(125);
  }
}

constexpr rlim_t stack_bytes = 8u << 20, stack_least = 1u << 20;

/// The caller's limit may allow a stack too small for Overdue. Programs that Overdue starts have
/// the caller's limit again.
bool has_stack() {
  rlimit stack{};
  if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= stack_bytes) return true;
  const rlimit ours{.rlim_cur = stack_bytes, .rlim_max = std::max(stack_bytes, stack.rlim_max)};
  if (setrlimit(RLIMIT_STACK, &ours) == 0) return true;
  stack.rlim_cur = stack.rlim_max;  // the most that a caller without privileges gets
  setrlimit(RLIMIT_STACK, &stack);
  return stack.rlim_cur >= stack_least;
}

/// Calls run() in a thread: no limit applies to the stack of a thread.
int run_on_stack_of_our_own(int argc, char** argv, const InheritedState& inherited) {
  std::function<int()> work = [&] { return run(argc, argv, inherited); };
  std::pair<std::function<int()>*, int> task{&work, own_failure_status};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_t thread{};
  const int error = pthread_create(
      &thread, &attributes,
      [](void* argument) -> void* {
        auto& [what, status] = *static_cast<decltype(task)*>(argument);
        status = (*what)();
        return nullptr;
      },
      &task);
  if (error != 0)
    return report_failure(
        Error("the stack is too small, and there is no other: {}", errno_text(error)), true, false);
  ThreadRights{}.apply();  // the new thread keeps the rights
  pthread_join(thread, nullptr);
  return task.second;
}

}  // namespace
}  // namespace overdue

int main(int argc, char** argv) {
  overdue::hold_standard_streams();
  const overdue::InheritedState inherited =
      overdue::InheritedState::current();  // before Overdue changes any of it
  // A closed pipe, or a file at its size limit, causes a write error with a message, not a silent
  // death.
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  overdue::StartMemory::give_back_large_blocks();
  return overdue::has_stack() ? overdue::run(argc, argv, inherited)
                              : overdue::run_on_stack_of_our_own(argc, argv, inherited);
}
