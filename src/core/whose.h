#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "bpf/origin.h"
#include "core/members.h"
#include "core/record.h"

namespace overdue {

/// Whose time, calls or samples a row has: the words of `--by`. Recordings have the numbers: append
/// only.
enum class Whose : std::uint8_t {
  thread,
  process,
  name,     ///< all threads of one name
  pattern,  ///< all threads whose names differ in numbers alone
  group,    ///< those of one process, or of all processes if they are many
  cgroup,
  parent,  ///< all processes of one name that one process started
};

/// In the order of the enumerators.
inline constexpr std::array<std::string_view, 7> whose_words{
    "thread", "process", "name", "pattern", "group", "cgroup", "parent"};

constexpr std::string_view to_word(Whose by) {
  return whose_words[static_cast<std::size_t>(by)];
}
/// Empty for any other word.
std::optional<Whose> whose_named(std::string_view word);
/// Throws Error (exit status 2) unless `word` is one of `words`, those of a report.
void check_whose(std::string_view word, std::span<const std::string_view> words);

/// The owner of time, calls or samples: a thread, or what threads have in common. A part that is
/// not known, or not common, is 0 or empty.
struct Owner {
  std::uint32_t pid = 0, tid = 0;
  std::string comm{};  ///< name of the thread
  std::uint64_t cgroup_id = 0;
  std::string cgroup{};   ///< its path, once resolve_cgroup() has found it
  std::string process{};  ///< name of the process
  std::uint32_t parent_pid = 0;
  std::string parent{};  ///< name of the process that started the process

  auto operator<=>(const Owner&) const = default;
};

/// The thread of a record.
Owner owner_of(const event_header& header, const process_origin& origin);

/// Stands for owners too many to keep apart: "(other)" by any word.
Owner other_owner();

/// Stands for all threads of the kernel: "(kernel)" by cgroup and parent.
Owner kernel_owner();

/// The parts of `owner` that rows by `by` are distinguished by.
Owner key_of(const Owner& owner, Whose by);
/// Adds these parts to `key`, for rows that are distinguished by several words.
void add_to_key(Owner& key, const Owner& owner, Whose by);

/// "sh[12]", "sh ×522", "sh ×522 from cron[4126]", "/system.slice/cron.service". `count`: threads,
/// by parent processes; 0 and 1 are not shown. Printable.
std::string owner_text(const Owner& owner, Whose by, std::uint64_t count);

/// The path of a cgroup, or words that say that it is not known.
std::string cgroup_text(std::uint64_t cgroup_id, const Names& names);
/// Sets the path of the owner's cgroup.
void resolve_cgroup(Owner& owner, const Names& names);

/// The members of a row that rows by name, cgroup and parent have. `processes`: those of the row;
/// 0: not known.
void describe_common(Members& member, const Owner& owner, std::uint64_t processes);

/// Counts the different processes of each key. Bounded: processes that find no room are left out.
class ProcessCounts {
 public:
  static constexpr std::size_t processes_max = 200'000;

  explicit ProcessCounts(std::size_t most = processes_max) : most_(most) {}
  /// `start_ns`: start of the process, since a pid may be used again.
  void add(const Owner& key, std::uint32_t pid, std::uint64_t start_ns);
  void merge(const ProcessCounts& other);
  std::uint64_t count(const Owner& key) const;
  /// Calls of add() for processes that found no room.
  std::uint64_t left_out() const { return left_out_; }
  void clear();

 private:
  using Process = std::pair<std::uint64_t, std::uint32_t>;
  std::size_t most_, kept_ = 0;
  std::map<Owner, std::set<Process>> processes_;
  std::uint64_t left_out_ = 0;
};

/// A sentence about left_out(), for the report; empty if there is nothing to say.
std::string left_out_text(const ProcessCounts& counts);

}  // namespace overdue
