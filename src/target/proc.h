#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace overdue {

/// The names of the directories in `directory`, sorted, at most `limit`; empty where it cannot be
/// read.
std::vector<std::string> subdirectories(const std::filesystem::path& directory, std::size_t limit);

/// `text` as a decimal number that fits 32 bits; nothing else (no sign, no space) is accepted.
std::optional<std::uint32_t> parse_u32(std::string_view text);

/// One thread as /proc shows it. `comm` is hostile text: printable() before it is shown.
struct ThreadStatus {
  std::uint32_t tid = 0;
  std::uint32_t pid = 0;         ///< the process it belongs to
  std::uint32_t parent_pid = 0;  ///< 0: none
  char state = '?';              ///< R S D T t Z X I, as in ps(1)
  bool kernel_thread = false;
  std::string comm;

  bool has_ended() const { return state == 'Z' || state == 'X' || state == 'x'; }
};

/// Reads a /proc tree. Everything it says may be out of date when it returns: processes come and
/// go.
class Proc {
 public:
  explicit Proc(std::filesystem::path root = "/proc") : root_(std::move(root)) {}

  const std::filesystem::path& root() const { return root_; }

  /// The thread `tid`, or nothing where there is none (any more).
  std::optional<ThreadStatus> thread(std::uint32_t tid) const;

  /// All process ids, ascending.
  std::vector<std::uint32_t> processes() const;

  /// The thread ids of a process, ascending; empty where it is gone.
  std::vector<std::uint32_t> threads_of(std::uint32_t pid) const;

  /// Basename of the program name the process was started with; empty where unknown. Hostile text.
  std::string program_name(std::uint32_t pid) const;

  /// Process ids are below this number (kernel.pid_max).
  std::uint32_t pid_max() const;

 private:
  std::vector<std::uint32_t> numbers_in(const std::filesystem::path& directory) const;

  std::filesystem::path root_;
};

}  // namespace overdue
