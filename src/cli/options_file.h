#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace overdue {

/// The group of the options of which one kind chooses the threads to measure (CLI::Option::group).
inline constexpr const char* target_group = "target";

/// `--options FILE`, which every command has.
void add_options_file(CLI::App& app, std::string& path);

/// A file of options: on each line the long name of an option, and its value. CLI11's own
/// configuration files do not fit: CLI11 opens them with the rights of the process, reads without a
/// limit, and reports no line.
class OptionsFile {
 public:
  /// The file that `--options` in `words` names; none without this option. Throws as read().
  static std::optional<OptionsFile> named_in(const CLI::App& app,
                                             const std::vector<std::string>& words);

  /// Reads a regular file of at most 64 KiB, with the rights of the invoking user. Throws Error.
  static OptionsFile read(const std::string& path);

  /// Throws Error (exit status 2), with path and line, for text that is no list of options.
  OptionsFile(std::string path, std::string_view text);

  /// The file's options as words for the parser of `app`, without those that `words`, the command
  /// line, has too. If the command line chooses the target (`has_program`: by `--`), the file does
  /// not. Throws Error (exit status 2), with path and line, for a line that `app` does not take.
  std::vector<std::string> words_beside(const CLI::App& app, const std::vector<std::string>& words,
                                        bool has_program);

  /// `error` with path and line in front, if the message is about an option that words_beside()
  /// returned. If it is not, the hint of an error in the command line names the file.
  Error located(const Error& error) const;

 private:
  struct Line {
    std::size_t number;                ///< from 1
    std::string name;                  ///< long name, without dashes
    std::optional<std::string> value;  ///< without the quotes around it
    bool in_force = false;             ///< words_beside() returned the line
    std::string short_name;            ///< with its dash; empty if the option has none
  };

  Error error_at(const Line& line, std::string_view message) const;
  const CLI::Option& option_of(const CLI::App& app, const Line& line) const;

  std::string path_;
  std::vector<Line> lines_;
};

}  // namespace overdue
