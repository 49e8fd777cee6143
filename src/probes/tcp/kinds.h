#pragma once

#include <string>

#include "core/span_kinds.h"

namespace overdue {

/// `detail`: errno << 48 | family << 32 | local port << 16 | remote port. For IPv4, `subject`:
/// local address << 32 | remote address. For IPv6, `text`: the remote address in 32 hexadecimal
/// digits without NUL.
struct ConnectEnds {
  std::string remote;  ///< "192.0.2.1:80", "[2001:db8::1]:80"
  std::string local;   ///< "192.0.2.2:40000"; ":40000" for IPv6
  int error = 0;       ///< errno; 0: none
};

ConnectEnds connect_ends(const span_record& span);

}  // namespace overdue
