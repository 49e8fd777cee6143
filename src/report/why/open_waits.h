#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/finding.h"
#include "core/session_info.h"

namespace overdue {

/// The kind of lock of the C library, by which its owner can be found, or of PostgreSQL.
enum class LibraryLock { none, mutex, rwlock, postgres };

/// A wait that has not ended, whose other side is looked for.
struct OpenWait {
  std::uint32_t pid = 0, tid = 0;
  LibraryLock lock = LibraryLock::none;
  bool is_stopped = false;  ///< by a signal, a tracer or the freezer
};

/// What must end a wait that has not ended.
struct OtherSide {
  std::uint32_t tid = 0;  ///< the thread that waits
  std::string words;      ///< "held by holder[9], which sleeps"; printable
  std::string by;         ///< "holder[9]"; printable; empty: not known
};

/// What the thread of a finding that is still open waits for.
OpenWait open_wait_of(const Finding& finding);

/// The other sides as a setting that a recording keeps, and back. A damaged setting has fewer.
void keep_other_sides(const std::vector<OtherSide>& sides, SessionInfo& info);
std::vector<OtherSide> kept_other_sides(const SessionInfo& info);

}  // namespace overdue
