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

// $words: the choices for the word at the cursor. If $words is empty and $files is set: a file.
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

/// The values of an option that takes one of a few values.
std::vector<std::string> values(std::string_view page, const DocumentedOption& option) {
  constexpr std::string_view chosen_from_text[] = {"FORMAT", "WHEN",  "COLUMN", "KEYS",  "UNIT",
                                                   "VIEW",   "WHICH", "WAY",    "ACTION"};
  if (std::ranges::find(chosen_from_text, option.argument) != std::end(chosen_from_text))
    return quoted_words(option.text);
  return option.argument.starts_with("KIND") ? listed_words(page, "Spans")
                                             : std::vector<std::string>();
}

/// The choices for NAME in `command NAME`; empty if NAME is a file or the command takes no word.
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

bool takes_file(const DocumentedOption& option) {
  return option.argument == "FILE" || option.argument == "PATH";
}

std::string option_case(std::string_view page, const DocumentedOption& option) {
  std::vector<std::string> patterns;
  for (const std::string& name : option.names)
    patterns.push_back(fmt::format("\"{} {}\"", page, name));
  return fmt::format("    {}) words=\"{}\"{} ;;\n", fmt::join(patterns, " | "),
                     fmt::join(values(page, option), " "), takes_file(option) ? " files=yes" : "");
}

/// The first sentence of a help text, without backquotes, for a line beside a choice.
std::string first_sentence(std::string_view text) {
  const std::size_t end = std::min(text.find(". "), text.size());
  std::string sentence(text.substr(0, end));
  std::erase(sentence, '`');
  if (sentence.ends_with('.')) sentence.pop_back();
  return sentence;
}

/// Text for inside single quotes of zsh. Brackets and colons are escaped for _arguments.
std::string in_zsh(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'')
      quoted += "'\\''";
    else if (c == '[' || c == ']' || c == ':')
      quoted += {'\\', c};
    else
      quoted += c;
  }
  return quoted;
}

std::string zsh_option(std::string_view page, const DocumentedOption& option) {
  std::string value;
  if (!option.argument.empty()) {
    const std::vector<std::string> words = values(page, option);
    value = fmt::format(":{}:{}", in_zsh(option.argument),
                        takes_file(option) ? std::string("_files")
                        : words.empty()    ? std::string(" ")
                                           : fmt::format("({})", fmt::join(words, " ")));
  }
  std::string lines;
  for (const std::string& name : option.names)
    lines += fmt::format("        '*{}{}[{}]{}' \\\n", name,
                         option.argument.empty() || !name.starts_with("--") ? "" : "=",
                         in_zsh(first_sentence(option.text)), value);
  return lines;
}

std::string in_fish(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string fish_option(std::string_view page, const DocumentedOption& option) {
  std::string line = fmt::format("complete -c overdue -n '__overdue_is {}'", page);
  for (const std::string& name : option.names)
    line += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2))
                                   : fmt::format(" -s {}", name.substr(1));
  if (!option.argument.empty()) {
    const std::vector<std::string> words = values(page, option);
    line += takes_file(option) ? std::string(" -r -F")
            : words.empty()    ? std::string(" -x")
                               : fmt::format(" -x -a '{}'", fmt::join(words, " "));
  }
  return line + fmt::format(" -d {}\n", in_fish(first_sentence(option.text)));
}

}  // namespace

std::string zsh_completion() {
  std::string commands, cases;
  for (const std::string_view page : help_pages()) {
    if (page == "overdue") continue;
    commands += fmt::format("      '{}:{}'\n", page, in_zsh(help_summary(page)));
    cases += fmt::format("    {})\n      _arguments -S \\\n", page);
    for (const DocumentedOption& option : option_definitions(page))
      cases += zsh_option(page, option);
    const std::vector<std::string> words = arguments(page);
    if (!words.empty()) cases += fmt::format("        '1:word:({})' \\\n", fmt::join(words, " "));
    cases += "        '*:file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef overdue
# zsh completion of overdue, made from its help pages
_overdue() {{
  local -a choices
  local dashes=${{words[(i)--]}}
  if (( dashes < CURRENT )); then
    words=("${{(@)words[dashes + 1, -1]}}")
    (( CURRENT -= dashes ))
    if (( CURRENT == 1 )); then _command_names -e; else _normal; fi
    return
  fi
  if (( CURRENT == 2 )); then
    choices=(
{})
    _describe command choices
    return
  fi
  local command=$words[2]
  words=("${{(@)words[2, -1]}}")
  (( CURRENT -= 1 ))
  case $command in
{}  esac
}}
_overdue "$@"
)",
                     commands, cases);
}

std::string fish_completion() {
  std::string text = R"(# fish completion of overdue, made from its help pages
function __overdue_words
    commandline -xpc 2>/dev/null; or commandline -opc
end
function __overdue_in_program
    contains -- -- (__overdue_words)
end
function __overdue_is
    set -l words (__overdue_words)
    test (count $words) -ge 2; and test $words[2] = $argv[1]; and not __overdue_in_program
end
function __overdue_is_first
    test (count (__overdue_words)) -eq 1
end
function __overdue_program
    set -l words (__overdue_words) (commandline -ct)
    set -l at (contains -i -- -- $words)
    complete -C (string join ' ' -- $words[(math $at + 1)..-1])
end
complete -c overdue -n __overdue_is_first -f
complete -c overdue -n __overdue_in_program -x -a '(__overdue_program)'
)";
  for (const std::string_view page : help_pages()) {
    if (page == "overdue") continue;
    text += fmt::format("complete -c overdue -n __overdue_is_first -a {} -d {}\n", page,
                        in_fish(help_summary(page)));
    if (const std::vector<std::string> words = arguments(page); !words.empty())
      text += fmt::format("complete -c overdue -n '__overdue_is {}' -f -a '{}'\n", page,
                          fmt::join(words, " "));
    for (const DocumentedOption& option : option_definitions(page))
      text += fish_option(page, option);
  }
  return text;
}

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
