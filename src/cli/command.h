#pragma once

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

/// What stood on the command line besides a command's own options.
struct Invocation {
  std::vector<std::string> program;  ///< what follows `--`
  bool has_program = false;          ///< `--` was there, even if nothing follows it
  InheritedState inherited;  ///< signals and limits as we got them: what the program is to get
};

/// One subcommand. A command is one file: its options, and what it does with them.
class Command {
 public:
  virtual ~Command() = default;
  virtual std::string_view name() const = 0;
  virtual void add_options(CLI::App& app) = 0;
  /// Returns the exit status. Throws Error.
  virtual int run(const Invocation& invocation) = 0;
  /// True when this command runs what follows `--`. A failure of ours then ends with 125, so that
  /// it is not taken for the program's own status.
  virtual bool spawns(const Invocation&) const { return false; }
  /// What run() may do; main() gives up the rest.
  virtual Rights rights() const { return Rights::measuring; }
};

std::unique_ptr<Command> make_syscalls_command();
std::unique_ptr<Command> make_stalls_command();
std::unique_ptr<Command> make_timerlat_command();
std::unique_ptr<Command> make_osnoise_command();
std::unique_ptr<Command> make_worst_command();
std::unique_ptr<Command> make_record_command();
std::unique_ptr<Command> make_report_command();
std::unique_ptr<Command> make_flame_command();
std::unique_ptr<Command> make_ctl_command();
std::unique_ptr<Command> make_demo_command();
std::unique_ptr<Command> make_doctor_command();
std::unique_ptr<Command> make_probes_command();
std::unique_ptr<Command> make_schema_command();
std::unique_ptr<Command> make_help_command();

/// Every command of this version, in the order of `overdue help`.
std::vector<std::unique_ptr<Command>> all_commands();

/// Commands of the contract, and parts of commands, that this version does not have yet.
std::vector<std::string_view> planned_commands();

}  // namespace overdue
