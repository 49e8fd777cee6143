#pragma once

#include <cstdint>
#include <string>

#include "analysis/stall_assembler.h"
#include "core/finding.h"
#include "core/stack_namer.h"

namespace overdue {

/// Fills in name, arguments, error and title ("block vda write 8.0 MB sector 2048") of the span, by
/// its kind. The rest of a system call's description comes from the call's own record.
void describe_span(const RawStall& stall, StackNamer& namer, Finding& finding);

/// Fills in the thread of the span, and the thread that ended the span if that is meaningful: an
/// interrupt that completes a request runs in the context of any thread.
void describe_threads(const RawStall& stall, StackNamer& namer, Finding& finding);

/// "thread", "softirq NET_RX", "irq 24 virtio1-req.0", "vector local_timer".
std::string context_text(const RawWaker& waker);

/// The name of the span in tables: "vda", "NET_RX", a function; empty: it has none. Waits have one
/// in sums only.
std::string name_of_span(const span_record& span, StackNamer& namer);

}  // namespace overdue
