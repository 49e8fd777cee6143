#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace overdue {

/// The names of the directories in `directory`, sorted, at most `limit`; empty if `directory` is
/// unreadable.
std::vector<std::string> subdirectories(const std::filesystem::path& directory, std::size_t limit);

/// `text` as a decimal number of at most 32 bits, without sign or space; nothing otherwise.
std::optional<std::uint32_t> parse_u32(std::string_view text);

/// The decimal number that `text` begins with, after white space and before white space or the end.
std::optional<std::uint64_t> first_number(std::string_view text);

/// The number behind `title` at the begin of a line of `text`: "Max open files  12  12  files".
std::optional<std::uint64_t> number_behind(std::string_view text, std::string_view title);

/// One thread as /proc shows it. `comm` is hostile text: print it through printable().
struct ThreadStatus {
  std::uint32_t tid = 0;
  std::uint32_t pid = 0;         ///< id of the thread's process
  std::uint32_t parent_pid = 0;  ///< 0: none
  char state = '?';              ///< R S D T t Z X I, as in ps(1)
  bool kernel_thread = false;
  std::string comm;

  bool has_ended() const { return state == 'Z' || state == 'X' || state == 'x'; }
};

/// Reads a /proc tree. A result may be out of date on return: processes start and end at any time.
class Proc {
 public:
  explicit Proc(std::filesystem::path root = "/proc") : root_(std::move(root)) {}

  const std::filesystem::path& root() const { return root_; }

  /// The thread `tid`, or nothing if there is no such thread (any more).
  std::optional<ThreadStatus> thread(std::uint32_t tid) const;

  /// All process ids, ascending.
  std::vector<std::uint32_t> processes() const;

  /// The thread ids of a process, ascending; empty if the process is gone.
  std::vector<std::uint32_t> threads_of(std::uint32_t pid) const;

  /// Basename of the process's argv[0]; empty if unknown. Hostile text.
  std::string program_name(std::uint32_t pid) const;

  /// Process ids are below this number (kernel.pid_max).
  std::uint32_t pid_max() const;

 private:
  std::vector<std::uint32_t> numbers_in(const std::filesystem::path& directory) const;

  std::filesystem::path root_;
};

}  // namespace overdue
