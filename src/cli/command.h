#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "target/own_rights.h"
#include "target/spawn.h"

namespace CLI {
class App;
}

namespace overdue {

/// The parts of the command line besides a command's own options.
struct Invocation {
  std::vector<std::string> program;  ///< words after `--`
  bool has_program = false;          ///< true if `--` was given, even without words after it
  InheritedState inherited;  ///< signals and limits that Overdue got, to pass to the program
};

/// One subcommand. Its options and its work are in one file.
class Command {
 public:
  virtual ~Command() = default;
  virtual std::string_view name() const = 0;
  virtual void add_options(CLI::App& app) = 0;
  /// Returns the exit status. Throws Error.
  virtual int run(const Invocation& invocation) = 0;
  /// True if this command runs the program after `--`. A failure of Overdue then ends with status
  /// 125, which is not taken for the program's own status.
  virtual bool spawns(const Invocation&) const { return false; }
  /// The rights that run() keeps; main() drops all others.
  virtual Rights rights() const { return Rights::measuring; }
};

/// Every command of this version, in the order of `overdue help`.
std::vector<std::unique_ptr<Command>> all_commands();

/// Commands of the contract, and parts of commands, that this version does not have yet.
inline constexpr std::array<std::string_view, 7> planned_commands{
    "func", "graph", "io", "export", "serve", "ftrace", "bench"};

}  // namespace overdue
