// The pages of docs/commands and the parser name the same options.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/options_file.h"

namespace overdue {
namespace {

std::set<std::string> parsed_options(Command& command) {
  CLI::App app;
  app.set_help_flag();
  command.add_options(app);
  std::string path;
  add_options_file(app, path);
  std::set<std::string> names{"-h", "--help"};  // main() answers these for every command
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_snames()) names.insert("-" + name);
    for (const std::string& name : option->get_lnames()) names.insert("--" + name);
  }
  return names;
}

TEST(HelpOptions, PagesAndParserAgree) {
  for (const auto& command : all_commands()) {
    const std::vector<std::string> page = documented_options(command->name());
    EXPECT_EQ(std::set<std::string>(page.begin(), page.end()), parsed_options(*command))
        << "docs/commands/" << command->name() << ".md";
  }
}

TEST(HelpOptions, EveryCommandHasAPageAndEveryPageACommand) {
  std::set<std::string_view> names{"overdue"};
  const auto commands = all_commands();
  for (const auto& command : commands) names.insert(command->name());
  const std::vector<std::string_view> pages = help_pages();
  EXPECT_EQ(names, std::set<std::string_view>(pages.begin(), pages.end()));
  for (const std::string_view name : names) {
    if (name != "overdue") {
      EXPECT_NE(help_text("overdue").find("    " + std::string(name) + "\n"), std::string::npos)
          << name << " is not on the page of the program";
    }
  }
}

}  // namespace
}  // namespace overdue
