#pragma once

#include <cstdint>
#include <string_view>

#include "bpf/offcpu.h"
#include "report/why/cause.h"
#include "report/why/figures.h"

namespace overdue {

/// Waits for one reason that are too short to be examined one by one: the sums of the groups have
/// them. They belong to the cause with long waits of this kind, if there is one. `blamed_ns`: of
/// the waits that causes have already.
void add_short_waits(const WhyFindings& found, WhyFigures& figures, wait_reason reason,
                     std::uint64_t blamed_ns);

/// Whether the thread was stopped for most of the session, and still is.
bool is_still_stopped(const OffcpuRow& thread);

/// Adds time on the CPU to the waits of the same process for the same work, if the work is to
/// reclaim memory at the limit of the cgroup: the limit is the cause of both. Returns whether there
/// are such waits.
bool add_reclaim(WhyFigures& figures, const OffcpuRow& group, std::string_view work,
                 std::uint64_t ns);

/// Whether a cause takes much of the session: 1/100.
bool is_much_of(std::uint64_t duration_ns, std::uint64_t ns);

WhyName named(const OffcpuRow& group, std::uint64_t ns);

/// `ns` times `part` of `whole`.
std::uint64_t part_of(std::uint64_t ns, std::uint64_t part, std::uint64_t whole);

}  // namespace overdue
