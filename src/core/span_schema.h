#pragma once

#include <string>
#include <string_view>

#include "bpf/span.h"
#include "core/schema.h"
#include "core/span_kinds.h"

namespace overdue {

/// What all probes of spans write: struct span_record.
extern const Schema span_schema;
inline constexpr const Schema* span_schemas[] = {&span_schema};

/// How `subject`, `detail` and `text` of a kind are made up:
///   block         subject: sector << 32 | the kernel's dev_t (all ones: a sector beyond that);
///                 detail: bytes; text: disk
///   irq           subject: its number; detail: what the handler returned; text: its action
///   softirq…      subject: its number; text: its name. vector: likewise
///   timer         subject: the timer's function
///   work…         subject: the work's function; text: the workqueue
///   lock          subject: the lock; detail: the kernel's LCB_F_ flags; text: what they mean
///   tcp_connect   detail: errno << 48 | family << 32 | local port << 16 | remote port;
///                 subject: for IPv4, local address << 32 | remote address;
///                 text: for IPv6, the remote address in 32 hexadecimal digits without NUL
struct ConnectEnds {
  std::string remote;  ///< "192.0.2.1:80", "[2001:db8::1]:80"
  std::string local;   ///< "192.0.2.2:40000"; ":40000" for IPv6
  int error = 0;       ///< errno; 0 where there is none
};
ConnectEnds connect_ends(const span_record& span);

/// What the span is of, in words and without escapes: "vda", "NET_RX", "127.0.0.1:80", "mutex";
/// empty where only an address says so. What comes from other processes may be in it: to be
/// printed with care.
std::string span_subject(const span_record& span);

}  // namespace overdue
