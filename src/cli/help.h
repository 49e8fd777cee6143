#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace overdue {

/// The pages of docs/commands, embedded: the one text of `overdue help`, of `--help` and of the man
/// pages. Pages are named by command; "overdue" is the page of the program itself. All functions
/// here throw Error (exit status 2) for a name without a page.

/// A page of docs/commands.
struct HelpPage {
  std::string_view name;
  const std::string_view& text;
};
/// The pages of the program and of its commands, "overdue" first.
std::span<const HelpPage> command_pages();
/// Pages of options that several commands have: "options/target".
std::span<const HelpPage> option_pages();

/// The names of command_pages().
std::vector<std::string_view> help_pages();

/// A page for a terminal 80 columns wide; `color` adds bold headings and options.
std::string help_text(std::string_view page, bool color = false);

/// The purpose of a command, a phrase without a full stop: the right-hand side of the title.
std::string help_summary(std::string_view page);

/// A page as the roff source of overdue-PAGE.1 (overdue.1 for "overdue").
std::string man_page(std::string_view page, std::string_view version);

/// One option, as the Options section of a page documents it.
struct DocumentedOption {
  std::vector<std::string> names;  ///< every spelling: "-p", "--pid"
  std::string argument;            ///< name of the value on the page; empty: a flag
  std::string text;                ///< the description, with its backquotes
};
std::vector<DocumentedOption> option_definitions(std::string_view page);

/// The words that a section of the page defines: kinds, demos, requests.
std::vector<std::string> listed_words(std::string_view page, std::string_view section);

/// Every spelling of every option that the page's Options section describes ("-p", "--pid", …),
/// sorted. The parser must accept the same set.
std::vector<std::string> documented_options(std::string_view page);

}  // namespace overdue
