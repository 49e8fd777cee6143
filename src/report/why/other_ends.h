#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/finding.h"
#include "core/session_info.h"
#include "report/why/cause.h"

namespace overdue {

/// Path of a terminal that a program shows, before its number.
inline constexpr std::string_view terminal = "/dev/pts/";

/// CallObject::kind of a path that a program serves, by FUSE. The text is the path.
inline constexpr std::string_view served_path = "fuse";

/// A pipe, socket, terminal or served path for whose other end a thread waits.
struct AwaitedEnd {
  std::uint32_t pid = 0;  ///< process of the thread
  CallObject object;
  bool writes = false;  ///< the thread waits for room: for the reader

  bool operator<(const AwaitedEnd& other) const { return object.text < other.object.text; }
};

/// A process that has the other end of a pipe, socket or terminal open, or that serves the path.
struct OtherEnd {
  std::string object;  ///< CallObject::text, printable
  ThreadName process;  ///< its main thread
  bool is_stopped = false;
};

/// The ends as a setting that a recording keeps, and back. A damaged setting has fewer ends.
void keep_other_ends(const std::vector<OtherEnd>& ends, SessionInfo& info);
std::vector<OtherEnd> kept_other_ends(const SessionInfo& info);

/// The other end of what the thread of a finding waits for, if it may be on this machine.
std::optional<AwaitedEnd> awaited_end(const Finding& finding);

/// Names the processes at the other end of what the cause's longest example waits for, if nothing
/// else is named.
void name_other_ends(WhyCause& cause, const std::vector<OtherEnd>& ends);

}  // namespace overdue
