#pragma once

#include <string>

#include "core/span_kinds.h"

namespace overdue {

/// Of both kinds over TCP. `detail`: family << 32 | local port << 16 | remote port; of a
/// connection, errno << 48; of an answer, the part of its latency in which the question was sent
/// again and again, in 255ths << 56 | how often << 48. For IPv4, `subject`: local address << 32 |
/// remote address; `text`: the tries in 16 hexadecimal digits. For IPv6, `text`: the remote address
/// in 32 hexadecimal digits without NUL; `subject`: the tries. The tries: SYNs << 48 | length of
/// the listener's queue << 24 | limit of this queue; 0: not known, or an answer.
struct ConnectEnds {
  std::string remote;           ///< "192.0.2.1:80", "[2001:db8::1]:80"
  std::string local;            ///< "192.0.2.2:40000"; ":40000" for IPv6
  int error = 0;                ///< errno; 0: none
  unsigned syns = 0;            ///< SYNs sent; 0: not known
  unsigned resends = 0;         ///< of an answer: how often the question was sent again
  std::uint64_t resent_ns = 0;  ///< from the first time that it was sent to the last time
  /// Connections of the listener on this machine that no program had accepted when a SYN came, and
  /// their limit; the fullest state. Both 0: no such listener is known.
  unsigned queue = 0, queue_limit = 0;

  /// The listener drops SYNs.
  bool is_queue_full() const { return queue > queue_limit; }
};

ConnectEnds connect_ends(const span_record& span);

/// The listener that an answer over a unix socket is of, as CallObject::text has it: "unix /run/x",
/// "unix @name". Its name is in `subject`, `detail` and `text`, in this order; what does not fit in
/// their bytes is missing, and the name then ends with "…". The header has the thread that
/// answered.
std::string unix_listener(const span_record& span);

}  // namespace overdue
