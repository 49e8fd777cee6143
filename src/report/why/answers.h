#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/finding.h"
#include "core/latency_table.h"
#include "core/session_info.h"
#include "report/why/other_ends.h"

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
///
/// An event loop waits for all its sockets at once: none of its calls is late, and the spans of
/// answers show what it waits for. Such an answer is late if a client of the process waited
/// meanwhile, or if the process at the other end had more to do than to wait for something to
/// answer.
class Answers {
 public:
  /// WaitPurpose::by of the waits of late(): the process has opened the connection.
  static constexpr std::string_view by_opened = "the process opened the connection";

  /// `of_program`: the target is a program that Overdue started. If it connects, and never accepts,
  /// then its event loop waits for answers too. `sees_unix_questions`: note_question() is called
  /// for each question over a unix socket that is answered. A client that has asked nothing waits
  /// for news there, which are work.
  explicit Answers(bool of_program = false, bool sees_unix_questions = false)
      : of_program_(of_program), sees_unix_questions_(sees_unix_questions) {}

  /// Whether the purpose of a wait depends on who has opened a connection, or is not known at all,
  /// although no rule leaves the wait out.
  static bool decide(const Finding& finding);
  /// Whether the process had asked for news, and the other side had none: a wait for work.
  static bool is_for_news(const Finding& finding);
  /// Whether the thread sent something, and then waited at once: news and an answer to that look
  /// alike.
  static bool has_just_asked(const Finding& finding);
  /// Takes a wait that may be for an answer, or an answer; ignores others. Whether the purpose of a
  /// wait is open until the end of the session.
  bool add(const Finding& finding);
  /// Takes a wait with a decided purpose: the answer it was for is no other cause.
  void note_peer(const Finding& finding);
  /// Takes the process that has asked, and the listener: "unix /run/x".
  void note_question(std::uint32_t pid, std::string_view listener);
  /// The sockets of these waits.
  std::set<ProcessSocket> sockets() const;
  /// The other ends of the connections over which answers came.
  std::set<AwaitedEnd> awaited_ends() const;
  /// The waits for answers. `calls`: by process; `opened`: sockets whose connection the process has
  /// opened.
  std::vector<Finding> late(const LatencyTable& calls, const std::set<ProcessSocket>& opened) const;
  /// The other waits that add() took, if they were for work. Their purpose says so.
  std::vector<Finding> idle(const LatencyTable& calls, const std::set<ProcessSocket>& opened) const;
  /// For the next interval.
  Answers next() const;
  /// Waits that were dropped for lack of room.
  std::uint64_t dropped() const { return dropped_; }

 private:
  void add_answer(Finding answer);
  bool is_of_noted_peer(const Finding& answer) const;
  bool has_asked(const Finding& unix_wait) const;
  bool is_late(const Finding& answer) const;

  bool of_program_, sees_unix_questions_;
  std::vector<Finding> unix_waits_;                        ///< of clients, in calls
  std::set<std::pair<std::uint32_t, std::string>> asked_;  ///< processes, and listeners
  std::vector<std::pair<ProcessSocket, Finding>> waits_;
  std::vector<Finding> answers_;
  /// The last wait of each thread for events, by tid.
  std::map<std::uint32_t, Finding> loops_;
  /// Processes, and the peers for which their threads waited in calls on one socket.
  std::set<std::pair<std::uint32_t, std::string>> peers_;
  std::uint64_t dropped_ = 0;
};

/// The sockets as a setting that a recording keeps, and back. A damaged setting has fewer.
void keep_opened_sockets(const std::set<ProcessSocket>& sockets, SessionInfo& info);
std::set<ProcessSocket> kept_opened_sockets(const SessionInfo& info);

}  // namespace overdue
