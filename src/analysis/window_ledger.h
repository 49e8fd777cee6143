#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "analysis/stall_assembler.h"

namespace overdue {

/// The time of one thread in the window from `begin_ns` to `end_ns`. `waits` and `wakes` are the
/// thread's own, in time order. `waker` is the thread as it wakes another one at the end of the
/// window. Each record has the thread's sums, so the parts between two records are exact. Of a
/// stretch that begins before the window, as much of each part counts as must lie in the window;
/// the rest is unknown. If the time outside is at most a tenth of the time inside, the parts count
/// in proportion: the error is at most that tenth.
RawLedger ledger_between(const std::deque<RawWait>& waits, const std::vector<RawSums>& wakes,
                         const RawWaker& waker, std::uint64_t begin_ns, std::uint64_t end_ns);

/// Whether find_parts() has to find the parts of a span of one thread: the kernel may not have been
/// able to read the thread's sums.
bool lacks_parts(const span_record& span);

/// Finds the parts, and the places, of a span of which the sums of its thread at the end are known
/// (SPAN_HAS_SUMS): the thread may have been in a wait when the span began. If the sums are not
/// known either, only the recorded waits have parts, and the rest is unknown.
void find_parts(RawStall& stall, const std::deque<RawWait>& waits,
                const std::vector<RawSums>& wakes);

/// Inserts the point at its place in the order of time.
void add_in_order(std::vector<RawSums>& points, const RawSums& point);

/// The sums of the thread of `wait` at `begin_ns`. The thread had the CPU from then on until the
/// wait began.
RawSums begin_of_run(const RawWait& wait, std::uint64_t begin_ns);

}  // namespace overdue
