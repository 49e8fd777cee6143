#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "core/finding.h"
#include "core/latency_table.h"
#include "core/session_info.h"

namespace overdue {

/// A socket of a process, by its descriptor.
struct ProcessSocket {
  static constexpr std::uint32_t any = UINT32_MAX;  ///< as `fd`: the process has no other sockets
  static constexpr std::uint32_t loop = any - 1;    ///< as `fd`: one of those of an event loop

  std::uint32_t pid = 0, fd = 0;
  auto operator<=>(const ProcessSocket&) const = default;
};

/// Waits for input from a socket, or for events of one descriptor, which are late if the process
/// has opened the connection: it waits for an answer. A process that was connected to waits for
/// work. Which of the two a process does
/// is known at the end of the session only. Memory is bounded; used by one thread.
class Answers {
 public:
  /// `of_program`: the target is a program that Overdue started. If it connects, and never accepts,
  /// then its event loop waits for answers too.
  explicit Answers(bool of_program = false) : of_program_(of_program) {}

  /// Whether the purpose of a wait depends on who has opened a connection, or is not known at all,
  /// although no rule leaves the wait out.
  static bool decide(const Finding& finding);
  /// Takes a wait that may be for an answer; ignores others.
  void add(const Finding& finding);
  /// The sockets of these waits.
  std::set<ProcessSocket> sockets() const;
  /// The waits for answers. `calls`: by process; `opened`: sockets whose connection the process has
  /// opened.
  std::vector<Finding> late(const LatencyTable& calls, const std::set<ProcessSocket>& opened) const;
  /// For the next interval.
  Answers next() const { return Answers(of_program_); }
  /// Waits that were dropped for lack of room.
  std::uint64_t dropped() const { return dropped_; }

 private:
  bool of_program_;
  std::vector<std::pair<ProcessSocket, Finding>> waits_;
  std::uint64_t dropped_ = 0;
};

/// The sockets as a setting that a recording keeps, and back. A damaged setting has fewer.
void keep_opened_sockets(const std::set<ProcessSocket>& sockets, SessionInfo& info);
std::set<ProcessSocket> kept_opened_sockets(const SessionInfo& info);

}  // namespace overdue
