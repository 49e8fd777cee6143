#include "cli/completion.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "cli/help.h"

namespace overdue {
namespace {

// $words: what the word at the cursor may be; empty with $files set: a file.
constexpr std::string_view before = R"(# bash completion of overdue, made from its help pages
_overdue() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
  local words= files= i
  COMPREPLY=()
  # bash takes --option=value for three words.
  if [[ $word == = ]]; then word=; elif [[ $previous == = ]]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 2; i < COMP_CWORD; ++i)); do
    if [[ ${COMP_WORDS[i]} == -- ]]; then
      [[ $previous == -- ]] && COMPREPLY=($(compgen -c -- "$word"))
      return
    fi
  done
  ((COMP_CWORD == 1)) && command=overdue previous=
  case "$command $previous" in
)";
constexpr std::string_view between = R"(    *)
      case $command in
)";
constexpr std::string_view after = R"(      esac
      [[ $word == -* ]] || files=yes ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  [[ -z $files || ${#COMPREPLY[@]} -gt 0 ]] || compopt -o default
}
complete -F _overdue overdue
)";

bool is_plain_word(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

/// The words in backquotes in a text.
std::vector<std::string> quoted_words(std::string_view text) {
  std::vector<std::string> words;
  const bool begins_quoted = text.starts_with('`');
  const std::vector<std::string_view> parts = split(text, '`');
  for (std::size_t i = begins_quoted ? 0 : 1; i < parts.size(); i += 2)
    if (is_plain_word(parts[i]) && std::ranges::find(words, parts[i]) == words.end())
      words.emplace_back(parts[i]);
  return words;
}

/// The values of an option that takes one of a few.
std::vector<std::string> values(std::string_view page, const DocumentedOption& option) {
  constexpr std::string_view chosen_from_text[] = {"FORMAT", "WHEN",  "COLUMN", "KEYS",  "UNIT",
                                                   "VIEW",   "WHICH", "WAY",    "ACTION"};
  if (std::ranges::find(chosen_from_text, option.argument) != std::end(chosen_from_text))
    return quoted_words(option.text);
  return option.argument.starts_with("KIND") ? listed_words(page, "Spans")
                                             : std::vector<std::string>();
}

/// What `command NAME` may name; empty where the word is a file, or no word is taken.
std::vector<std::string> arguments(std::string_view page) {
  if (page == "worst") return listed_words(page, "Description");
  if (page == "demo") return listed_words(page, "Demos");
  if (page == "ctl") return listed_words(page, "Requests");
  std::vector<std::string> words;
  if (page == "overdue" || page == "help")
    for (const std::string_view name : help_pages())
      if (name != "overdue") words.emplace_back(name);
  return words;
}

std::string option_case(std::string_view page, const DocumentedOption& option) {
  std::vector<std::string> patterns;
  for (const std::string& name : option.names)
    patterns.push_back(fmt::format("\"{} {}\"", page, name));
  const bool file = option.argument == "FILE" || option.argument == "PATH";
  return fmt::format("    {}) words=\"{}\"{} ;;\n", fmt::join(patterns, " | "),
                     fmt::join(values(page, option), " "), file ? " files=yes" : "");
}

}  // namespace

std::string bash_completion() {
  std::string options_with_values, words_of_commands;
  for (const std::string_view page : help_pages()) {
    for (const DocumentedOption& option : option_definitions(page))
      if (!option.argument.empty()) options_with_values += option_case(page, option);
    words_of_commands +=
        fmt::format("        {}) words=\"{} {}\" ;;\n", page, fmt::join(arguments(page), " "),
                    fmt::join(documented_options(page), " "));
  }
  return fmt::format("{}{}{}{}{}", before, options_with_values, between, words_of_commands, after);
}

}  // namespace overdue
