#pragma once

#include <set>

#include "report/why/answers.h"

namespace overdue {

/// Those of the sockets, open at present, whose connection the process has opened: the local port
/// is not one on which its network namespace listens, or the socket has no path and its peer has
/// one. What cannot be read is left out.
std::set<ProcessSocket> opened_sockets(const std::set<ProcessSocket>& sockets);

}  // namespace overdue
