#include "cli/help.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/text.h"
#include "cli/help_page.h"

namespace overdue {

namespace {

using Kind = HelpBlock::Kind;

std::string_view find_page(std::span<const HelpPage> all, std::string_view name) {
  for (const HelpPage& page : all)
    if (page.name == name) return page.text;
  const std::vector<std::string_view> names = help_pages();
  const std::string_view close = nearest(name, names);
  throw Error("no help page '{}'", printable(name))
      .hint(close.empty() ? "'overdue help' lists the commands"
                          : fmt::format("did you mean '{}'?", close))
      .exit_status(2);
}

/// The commands and their purposes, as a page has them: a definition each.
std::string list_of_commands() {
  std::string list;
  for (const HelpPage& page : command_pages()) {
    const std::string_view title = page.text.substr(0, page.text.find('\n'));
    if (page.name != "overdue")
      list += fmt::format("- `{}`\n  {}\n", page.name, title.substr(title.find(" - ") + 3));
  }
  return list;
}

/// The text that a link on a page stands for.
std::string_view included(std::string_view link) {
  static const std::string commands = list_of_commands();
  if (link == ".") return commands;
  return find_page(option_pages(), link.substr(0, link.rfind(".md")));
}

std::vector<HelpBlock> parsed(std::string_view name) {
  return parse_help_page(find_page(command_pages(), name), included);
}

/// `text` without inline marks of Markdown: no backquotes, and only the text of each link.
std::string plain(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '`') continue;
    if (text[i] == ']' && text.substr(i).starts_with("](")) {
      i = std::min(text.find(')', i), text.size() - 1);
      result.erase(result.rfind('['), 1);
      continue;
    }
    result += text[i];
  }
  return result;
}

/// Whole lines, with four spaces in front of each line that is not empty.
std::string indented(std::string_view lines) {
  std::string result;
  char previous = '\n';
  for (const char c : lines) {
    if (previous == '\n' && c != '\n') result += "    ";
    result += c;
    previous = c;
  }
  return result;
}

std::string bold(std::string_view text, bool color) {
  return color ? fmt::format("\033[1m{}\033[0m", text) : std::string(text);
}

/// Text for roff: masks all that roff takes for a request, an escape or a typographic dash.
std::string roff(std::string_view text) {
  std::string result;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else if (c == '\'') {
      result += "\\(aq";
    } else {
      result += c;
    }
    line_start = c == '\n';
  }
  return result;
}

/// Running text for roff: `code` in bold.
std::string roff_prose(std::string_view text) {
  std::string result;
  bool in_code = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('`'), text.size());
    const std::string piece =
        roff(in_code ? std::string(text.substr(0, end)) : plain(text.substr(0, end)));
    result += in_code ? "\\fB" + piece + "\\fR" : piece;
    text.remove_prefix(std::min(end + 1, text.size()));
    in_code = !in_code;
  }
  return result;
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

std::string roff_block(const HelpBlock& block) {
  switch (block.kind) {
    case Kind::title:
      return "";
    case Kind::section:
      return fmt::format(".SH {}\n", roff(upper(block.text)));
    case Kind::subsection:
      return fmt::format(".SS {}\n", roff(block.text));
    case Kind::paragraph:
      return fmt::format(".PP\n{}\n", roff_prose(block.text));
    case Kind::definition:
      return fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(block.term), roff_prose(block.text));
    case Kind::code:
      return fmt::format(".PP\n.RS 4\n.nf\n{}.fi\n.RE\n", roff(block.text));
  }
  return "";
}

}  // namespace

std::vector<std::string_view> help_pages() {
  std::vector<std::string_view> names;
  for (const HelpPage& page : command_pages()) names.push_back(page.name);
  return names;
}

std::string help_text(std::string_view page, bool color) {
  constexpr std::size_t width = 79;
  std::string result;
  Kind previous = Kind::title;
  for (const HelpBlock& block : parsed(page)) {
    const bool joined = block.kind == Kind::definition && previous == Kind::definition;
    const bool under_heading = previous == Kind::section || previous == Kind::subsection;
    if (!result.empty() && !joined && !under_heading) result += '\n';
    switch (block.kind) {
      case Kind::title:
      case Kind::section:
        result += bold(plain(block.text), color) + '\n';
        break;
      case Kind::subsection:
        result += "  " + bold(plain(block.text), color) + '\n';
        break;
      case Kind::paragraph:
        result += filled(plain(block.text), width, 2);
        break;
      case Kind::definition:
        result += "    " + bold(block.term, color) + '\n' + filled(plain(block.text), width, 8);
        break;
      case Kind::code:
        result += indented(block.text);
        break;
    }
    previous = block.kind;
  }
  return result;
}

std::string help_summary(std::string_view page) {
  const std::string title = parsed(page).front().text;
  return title.substr(title.find(" - ") + 3);
}

std::string man_page(std::string_view page, std::string_view version) {
  const std::string name = page == "overdue" ? "overdue" : fmt::format("overdue-{}", page);
  std::string result =
      fmt::format(".TH {} 1 \"\" \"overdue {}\" \"Overdue\"\n.nh\n.ad l\n.SH NAME\n{} \\- {}\n",
                  roff(upper(name)), version, roff(name), roff(help_summary(page)));
  // The synopsis comes first in every man page; all else keeps the page's order.
  std::string rest;
  bool in_synopsis = false;
  for (const HelpBlock& block : parsed(page)) {
    if (block.kind == Kind::section) in_synopsis = block.text == "Synopsis";
    (in_synopsis ? result : rest) += roff_block(block);
  }
  return result + rest;
}

std::vector<DocumentedOption> option_definitions(std::string_view page) {
  std::vector<DocumentedOption> options;
  bool in_options = false;
  for (const HelpBlock& block : parsed(page)) {
    if (block.kind == Kind::section) in_options = block.text == "Options";
    if (!in_options || block.kind != Kind::definition) continue;
    DocumentedOption option{{}, {}, block.text};
    for (const std::string_view word : split(block.term, ' ')) {
      if (!word.starts_with('-'))
        option.argument = word;
      else if (word != "--")
        option.names.emplace_back(word.substr(0, word.find(',')));
    }
    if (!option.names.empty()) options.push_back(std::move(option));
  }
  return options;
}

std::vector<std::string> listed_words(std::string_view page, std::string_view section) {
  std::vector<std::string> words;
  bool in_section = false;
  for (const HelpBlock& block : parsed(page)) {
    if (block.kind == Kind::section) in_section = block.text == section;
    if (!in_section || block.kind != Kind::definition) continue;
    for (const std::string_view term : split(block.term, ',')) {
      const std::string_view word = split(term, ' ').front();
      if (std::ranges::find(words, word) == words.end()) words.emplace_back(word);
    }
  }
  return words;
}

std::vector<std::string> documented_options(std::string_view page) {
  std::vector<std::string> options;
  for (const DocumentedOption& option : option_definitions(page))
    options.insert(options.end(), option.names.begin(), option.names.end());
  std::ranges::sort(options);
  return options;
}

}  // namespace overdue
