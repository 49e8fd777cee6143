#include "cli/help_page.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace overdue {
namespace {

using Kind = HelpBlock::Kind;

bool take_prefix(std::string_view& line, std::string_view prefix) {
  if (!line.starts_with(prefix)) return false;
  line.remove_prefix(prefix.size());
  return true;
}

/// The target of a line that is a link to a page of options/, or to all pages, and nothing else.
std::optional<std::string_view> inclusion(std::string_view line) {
  if (!line.starts_with('[') || !line.ends_with(')')) return std::nullopt;
  const std::size_t middle = line.find("](");
  if (middle == std::string_view::npos) return std::nullopt;
  std::string_view link = line.substr(middle + 2);
  link.remove_suffix(1);
  if (link != "." && !link.starts_with("options/")) return std::nullopt;
  return link;
}

/// Splits at newlines and keeps empty lines, which end paragraphs.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

class Parser {
 public:
  std::vector<HelpBlock> blocks;

  void line(std::string_view text) {
    if (text.empty()) {
      paragraph_open_ = false;
      ++blank_lines_;
      return;
    }
    if (take_prefix(text, "### ")) {
      start(Kind::subsection, "", text);
    } else if (take_prefix(text, "## ")) {
      start(Kind::section, "", text);
    } else if (take_prefix(text, "# ")) {
      start(Kind::title, "", text);
    } else if (take_prefix(text, "    ")) {
      code(text);
    } else if (take_prefix(text, "- ")) {
      start(Kind::definition, without_backquotes(text), "");
    } else {
      prose(text);
    }
    blank_lines_ = 0;
  }

 private:
  static std::string without_backquotes(std::string_view text) {
    std::string result(text);
    std::erase(result, '`');
    return result;
  }

  void start(Kind kind, std::string term, std::string_view text) {
    blocks.push_back({kind, std::move(term), std::string(text)});
    paragraph_open_ = kind == Kind::definition;
  }

  void code(std::string_view text) {
    if (blocks.empty() || blocks.back().kind != Kind::code) {
      start(Kind::code, "", "");
    } else {
      blocks.back().text.append(blank_lines_, '\n');
    }
    blocks.back().text.append(text).append("\n");
  }

  void prose(std::string_view text) {
    if (!paragraph_open_) start(Kind::paragraph, "", "");
    paragraph_open_ = true;
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    std::string& whole = blocks.back().text;
    if (!whole.empty()) whole += ' ';
    whole.append(text);
  }

  bool paragraph_open_ = false;
  std::size_t blank_lines_ = 0;
};

}  // namespace

std::vector<HelpBlock> parse_help_page(
    std::string_view markdown,
    const std::function<std::string_view(std::string_view link)>& included) {
  Parser parser;
  for (const std::string_view line : lines_of(markdown)) {
    const std::optional<std::string_view> link = inclusion(line);
    if (!link) {
      parser.line(line);
      continue;
    }
    for (HelpBlock& block : parse_help_page(included(*link), included)) {
      if (block.kind == Kind::title) block.kind = Kind::subsection;
      parser.blocks.push_back(std::move(block));
    }
    parser.line("");
  }
  return std::move(parser.blocks);
}

}  // namespace overdue
