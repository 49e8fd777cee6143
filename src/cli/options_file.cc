#include "cli/options_file.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "base/read_text.h"
#include "base/text.h"
#include "cli/help.h"
#include "target/file_rights.h"
#include "target/identity.h"

namespace overdue {
namespace {

constexpr int usage_status = 2;
constexpr std::size_t longest_file = 64 << 10;
constexpr std::string_view blanks = " \t\r\f\v";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

/// Quotes keep blanks at the ends of a value, and stand for an empty value.
std::string_view without_quotes(std::string_view text) {
  const bool quoted = text.size() >= 2 && text.front() == text.back() &&
                      (text.front() == '"' || text.front() == '\'');
  return quoted ? text.substr(1, text.size() - 2) : text;
}

/// `text` without its first line, which is returned without its newline.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

bool is_flag(const CLI::Option& option) {
  return option.get_expected_max() == 0;
}

const CLI::Option* find_long(const CLI::App& app, std::string_view name) {
  for (const CLI::Option* option : app.get_options())
    if (std::ranges::find(option->get_lnames(), name) != option->get_lnames().end()) return option;
  return nullptr;
}

const CLI::Option* find_short(const CLI::App& app, std::string_view name) {
  for (const CLI::Option* option : app.get_options())
    if (std::ranges::find(option->get_snames(), name) != option->get_snames().end()) return option;
  return nullptr;
}

/// The options of `words` with their last values, as the parser would find them. Unknown words are
/// left to the parser.
std::map<const CLI::Option*, std::string> options_in(const CLI::App& app,
                                                     const std::vector<std::string>& words) {
  std::map<const CLI::Option*, std::string> found;
  const auto next_word = [&](std::size_t& i) { return ++i < words.size() ? words[i] : ""; };
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (word.starts_with("--")) {
      const std::size_t end = std::min(word.find('='), word.size());
      const CLI::Option* const option = find_long(app, word.substr(2, end - 2));
      if (option == nullptr) continue;
      found[option] = end < word.size()  ? word.substr(end + 1)
                      : is_flag(*option) ? ""
                                         : next_word(i);
    } else if (word.starts_with('-')) {  // -d10s, -d 10s, -qv
      for (word.remove_prefix(1); !word.empty(); word.remove_prefix(1)) {
        const CLI::Option* const option = find_short(app, word.substr(0, 1));
        if (option == nullptr) break;
        found[option] = {};
        if (is_flag(*option)) continue;
        found[option] = word.size() > 1 ? std::string(word.substr(1)) : next_word(i);
        break;
      }
    }
  }
  return found;
}

std::string hint_for_unknown(const CLI::App& app, const std::string& name) {
  if (const CLI::Option* const option = find_short(app, name);
      option != nullptr && !option->get_lnames().empty())
    return fmt::format("long names only: {}", option->get_lnames().front());
  std::vector<std::string_view> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& known : option->get_lnames()) names.push_back(known);
  const std::string_view close = nearest(name, names);
  return close.empty() ? fmt::format("overdue {} --help", app.get_name())
                       : fmt::format("did you mean {}?", close);
}

/// The word that the help page has for the value of an option.
std::string word_for_value(const CLI::App& app, const std::string& name) {
  for (const DocumentedOption& option : option_definitions(app.get_name()))
    if (std::ranges::find(option.names, "--" + name) != option.names.end()) return option.argument;
  return "VALUE";
}

/// Whether `word` stands in `text`, not as a part of a longer option or word.
bool mentions(std::string_view text, std::string_view word) {
  const auto continues = [](char c) {
    return c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  if (word.empty()) return false;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !continues(text[at - 1])) && (end == text.size() || !continues(text[end])))
      return true;
  }
  return false;
}

/// Whether `text` has `value`, or an element of this list, in quotes.
bool quotes_part_of(std::string_view text, std::string_view value) {
  const auto quoted = [text](std::string_view part) {
    return text.find(fmt::format("'{}'", printable(part))) != text.npos;
  };
  if (quoted(value)) return true;
  const std::vector<std::string_view> parts = split(value, ',');
  return std::ranges::any_of(parts, quoted);
}

}  // namespace

void add_options_file(CLI::App& app, std::string& path) {
  app.add_option("--options", path);
}

std::optional<OptionsFile> OptionsFile::named_in(const CLI::App& app,
                                                 const std::vector<std::string>& words) {
  const std::map<const CLI::Option*, std::string> given = options_in(app, words);
  const auto named = given.find(find_long(app, "options"));
  if (named == given.end() || named->second.empty()) return std::nullopt;
  return read(named->second);
}

OptionsFile OptionsFile::read(const std::string& path) {
  std::optional<std::string> text;
  int code = 0;
  {
    const FileRights rights(choose_identity(IdentityRequest::current(std::nullopt)));
    text = read_text(path, longest_file);
    code = errno;
  }
  if (text) return {path, *text};
  const std::string why = code == EINVAL  ? std::string("it is no regular file")
                          : code == EFBIG ? std::string("it is longer than 64 KiB")
                                          : errno_text(code);
  throw Error("cannot read the options in {}: {}", printable(path), why)
      .hint(code == EACCES ? "the user who called overdue must be able to read the file"
                           : "--options FILE names a text file with an option on each line")
      .exit_status(usage_status);
}

OptionsFile::OptionsFile(std::string path, std::string_view text) : path_(std::move(path)) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view rest = trimmed(take_line(text));
    if (rest.empty() || rest.starts_with('#')) continue;
    Line line{.number = number, .name = {}, .value = {}, .short_name = {}};
    if (rest.find('\0') != rest.npos) throw error_at(line, "this is not text");
    if (rest.starts_with('-'))
      rest.remove_prefix(std::min(rest.find_first_not_of('-'), rest.size()));
    const std::size_t end = std::min(rest.find_first_of(" \t="), rest.size());
    line.name = rest.substr(0, end);
    if (line.name.empty())
      throw Error(error_at(line, "there is no option on this line"))
          .hint("a line is the long name of an option and its value: duration 10s");
    rest = trimmed(rest.substr(end));
    const bool has_value = !rest.empty();
    if (rest.starts_with('=')) rest = trimmed(rest.substr(1));
    if (has_value) line.value = without_quotes(rest);
    lines_.push_back(std::move(line));
  }
}

Error OptionsFile::error_at(const Line& line, std::string_view message) const {
  return Error("{}:{}: {}", printable(path_), line.number, message).exit_status(usage_status);
}

const CLI::Option& OptionsFile::option_of(const CLI::App& app, const Line& line) const {
  const CLI::Option* const option = find_long(app, line.name);
  if (option == nullptr)
    throw error_at(line, fmt::format("unknown option '{}'", printable(line.name)))
        .hint(hint_for_unknown(app, line.name));
  if (line.name == "options")
    throw error_at(line, "a file of options cannot name another one")
        .hint("put all options into one file");
  if (!is_flag(*option) && !line.value)
    throw error_at(line, fmt::format("'{}' needs a value", line.name))
        .hint(fmt::format("{} {}", line.name, word_for_value(app, line.name)));
  if (is_flag(*option) && line.value && *line.value != "true" && *line.value != "false")
    throw error_at(line,
                   fmt::format("'{}' takes no value: '{}'", line.name, printable(*line.value)))
        .hint(fmt::format("write {} alone; a comment has a line of its own", line.name));
  return *option;
}

std::vector<std::string> OptionsFile::words_beside(const CLI::App& app,
                                                   const std::vector<std::string>& words,
                                                   bool has_program) {
  const std::map<const CLI::Option*, std::string> given = options_in(app, words);
  const bool chooses_target = has_program || std::ranges::any_of(given, [](const auto& option) {
                                return option.first->get_group() == target_group;
                              });
  std::vector<std::string> of_file;
  for (Line& line : lines_) {
    const CLI::Option& option = option_of(app, line);  // also checks lines that are not in force
    if (given.contains(&option)) continue;
    if (chooses_target && option.get_group() == target_group) continue;
    line.in_force = true;
    if (!option.get_snames().empty()) line.short_name = "-" + option.get_snames().front();
    if (is_flag(option)) {
      of_file.push_back(fmt::format("--{}{}", line.name, line.value ? "=" + *line.value : ""));
    } else if (line.value) {
      of_file.push_back("--" + line.name);
      of_file.push_back(*line.value);
    }
  }
  return of_file;
}

Error OptionsFile::located(const Error& error) const {
  if (error.is_silent()) return error;
  const std::string_view message = error.what();
  const auto put = [&](const Line& line, std::string_view option) {
    return Error("{}:{}: {}{}", printable(path_), line.number, option, message)
        .hint(error.hint())
        .log(error.log())
        .exit_status(error.exit_status());
  };
  for (const Line& line : lines_)
    if (line.in_force &&
        (mentions(message, "--" + line.name) || mentions(message, line.short_name)))
      return put(line, "");
  for (const Line& line : lines_)
    if (line.in_force && line.value && quotes_part_of(message, *line.value))
      return put(line, fmt::format("{}: ", line.name));
  const bool none = std::ranges::none_of(lines_, [](const Line& line) { return line.in_force; });
  if (error.exit_status() != usage_status || none) return error;
  return Error("{}", message)
      .hint(fmt::format("{}{}the options in {} count too", error.hint(),
                        error.hint().empty() ? "" : "; ", printable(path_)))
      .exit_status(usage_status);
}

}  // namespace overdue
