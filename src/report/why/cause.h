#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/finding.h"

namespace overdue {

/// Time of threads with one name.
struct WhyName {
  std::string name;  ///< "holder[12572]"; of several threads "waiter-*"
  std::uint64_t count = 0;
  std::uint64_t ns = 0;
};

/// The name as text shows it, whether it is printable already or not.
std::string shown_name(const WhyName& name);

/// What calls that fail each time lack.
enum class Shortage : std::uint8_t {
  none,
  descriptors,  ///< of the process
  files,        ///< of the machine
  processes,
  other
};

/// Late time that has one root.
struct WhyCause {
  std::string cause{};      ///< the root, in words
  std::string_view kind{};  ///< one of why_kinds
  std::uint64_t count = 0;  ///< late waits, samples or calls
  std::uint64_t total_ns = 0;
  std::uint64_t max_ns = 0;          ///< longest of them; 0: not known
  std::vector<WhyName> who{};        ///< the threads that were late, longest first
  std::vector<WhyName> by{};         ///< the roots, or the threads that had the CPU; longest first
  std::uint64_t idle_ns = 0;         ///< waits for a CPU: no thread had the CPU
  Breakdown parts{};                 ///< of the late operations that have a finding
  std::optional<Finding> example{};  ///< the longest of them
  std::string next{};                ///< the command that shows more
  std::uint32_t lock_wanted_by = 0;  ///< pid of the process that wants the lock of a file; 0: none
  Shortage shortage = Shortage::none;  ///< of the process `pid`
  bool may_be_idle = false;            ///< the threads may have waited for work
  std::set<std::uint32_t> waiters{};   ///< tids of the late threads; not all of very many
  /// Of a cause that sums alone show: the process, 0 for several, and the name of the threads with
  /// * for numbers, empty for all threads.
  std::uint32_t pid = 0;
  std::string comm{};
  std::map<std::uint32_t, std::uint64_t> threads{};  ///< late time by tid, if asked for
};

inline constexpr std::string_view why_kinds[] = {"blocked", "open",  "runqueue", "throttled",
                                                 "cpu",     "calls", "retry"};
inline constexpr std::string_view why_blocked = why_kinds[0], why_open = why_kinds[1],
                                  why_runqueue = why_kinds[2], why_throttled = why_kinds[3],
                                  why_cpu = why_kinds[4], why_calls = why_kinds[5],
                                  why_retry = why_kinds[6];

}  // namespace overdue
