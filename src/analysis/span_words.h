#pragma once

#include <cstdint>
#include <string>

#include "analysis/stall_assembler.h"
#include "core/finding.h"
#include "core/stack_namer.h"

namespace overdue {

/// Fills in what `stall` was of, by its kind: name, arguments, error and title ("block vda write
/// 8.0 MB sector 2048"), but for what a system call's own record says.
void describe_span(const RawStall& stall, StackNamer& namer, Finding& finding);

/// Fills in whose it was, and who ended it where that says something: an interrupt that completes a
/// request runs in whatever thread it met.
void describe_threads(const RawStall& stall, StackNamer& namer, Finding& finding);

/// "NET_RX"; the number where it has no name.
std::string softirq_name(std::uint64_t number);

/// "thread", "softirq NET_RX", "irq 24 virtio1-req.0", "vector local_timer".
std::string context_text(const RawWaker& waker);

/// "sleeping", "uninterruptible", "preempted", "throttled", "unknown", "other".
std::string_view wait_state_name(std::uint32_t state);

}  // namespace overdue
