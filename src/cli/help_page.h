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
  std::string term;  ///< of a definition, without the backquotes
  std::string text;
};

/// Takes a page apart. The Markdown is what CONTRIBUTING.md allows in docs/commands and nothing
/// else. A paragraph that is only a link to a page of options/ stands for that page, its title a
/// subsection; `included` gives the text behind such a link.
std::vector<HelpBlock> parse_help_page(
    std::string_view markdown,
    const std::function<std::string_view(std::string_view link)>& included);

/// The lines of `text` filled up to `width` columns, each with `indent` spaces in front and a
/// newline behind. A column is a code point: our pages have no others.
std::string filled(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace overdue
