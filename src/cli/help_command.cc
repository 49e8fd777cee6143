// `overdue help`: the pages of docs/commands, for a terminal or as man pages.
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/help.h"
#include "sinks/output.h"

namespace overdue {
namespace {

class HelpCommand final : public Command {
 public:
  std::string_view name() const override { return "help"; }
  Rights rights() const override { return Rights::caller; }

  void add_options(CLI::App& app) override {
    app.add_option("command", page_);
    app.add_flag("--man", man_);
  }

  int run(const Invocation&) override {
    Output output(STDOUT_FILENO);
    output.append(man_ ? man_page(page_, OVERDUE_VERSION)
                       : help_text(page_, isatty(STDOUT_FILENO) != 0));
    output.flush();
    return 0;
  }

 private:
  std::string page_ = "overdue";
  bool man_ = false;
};

}  // namespace

std::unique_ptr<Command> make_help_command() {
  return std::make_unique<HelpCommand>();
}

}  // namespace overdue
