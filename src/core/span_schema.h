#pragma once

#include <string>
#include <string_view>

#include "bpf/span.h"
#include "core/schema.h"
#include "core/span_kinds.h"

namespace overdue {

/// The schema of all span probes: struct span_record.
extern const Schema span_schema;
inline constexpr const Schema* span_schemas[] = {&span_schema};

/// Contents of `subject`, `detail` and `text` by kind:
///   block         subject: sector << 32 | the kernel's dev_t (all ones: a sector beyond that);
///                 detail: bytes; text: disk
///   irq           subject: its number; detail: return value of the handler; text: its action
///   softirq…      subject: its number; text: its name. vector: likewise
///   timer         subject: the timer's function
///   work…         subject: the work's function; text: the workqueue
///   lock          subject: the lock; detail: the kernel's LCB_F_ flags; text: their meaning
///   tcp_connect   detail: errno << 48 | family << 32 | local port << 16 | remote port;
///                 subject: for IPv4, local address << 32 | remote address;
///                 text: for IPv6, the remote address in 32 hexadecimal digits without NUL
struct ConnectEnds {
  std::string remote;  ///< "192.0.2.1:80", "[2001:db8::1]:80"
  std::string local;   ///< "192.0.2.2:40000"; ":40000" for IPv6
  int error = 0;       ///< errno; 0: none
};
ConnectEnds connect_ends(const span_record& span);

/// The subject of the span in words: "vda", "NET_RX", "127.0.0.1:80", "mutex"; empty if it is only
/// an address. Not escaped, and may have bytes of other processes: use printable() to print it.
std::string span_subject(const span_record& span);

}  // namespace overdue
