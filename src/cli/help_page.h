#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace overdue {

/// One piece of a help page.
struct HelpBlock {
  enum class Kind {
    title,       ///< `# overdue syscalls - purpose`
    section,     ///< `## Options`
    subsection,  ///< `### Target`
    paragraph,   ///< text, joined to one line
    definition,  ///< "- `-p, --pid PID`" and its indented text
    code,        ///< lines indented by four, as they stand, with their newlines
  };
  Kind kind;
  std::string term;  ///< term of a definition, without the backquotes
  std::string text;
};

/// Parses a page in the Markdown that CONTRIBUTING.md allows in docs/commands, and no other. A
/// paragraph that is only a link to a page of options/ stands for that page, with its title as a
/// subsection; a link to `.` stands for the list of commands. `included` returns the text of a
/// link.
std::vector<HelpBlock> parse_help_page(
    std::string_view markdown,
    const std::function<std::string_view(std::string_view link)>& included);

}  // namespace overdue
