#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "analysis/stall_assembler.h"

namespace overdue {

/// What the thread of `waits` and `wakes` (its own, in time order) did between two moments, at the
/// second of which it woke another as `waker` says. Each record has the thread's sums: between two
/// of them the parts are exact; of a stretch that begins earlier than the time looked at, as much
/// of each part is taken as must lie within, and the rest is unknown. Where the stretch begins
/// earlier by a tenth only, its parts are taken in proportion: they are wrong by that much at most.
RawLedger ledger_between(const std::deque<RawWait>& waits, const std::vector<RawSums>& wakes,
                         const RawWaker& waker, std::uint64_t begin_ns, std::uint64_t end_ns);

/// The sums of the thread of `wait` at `begin_ns`. The thread had the CPU from then on, until the
/// wait began.
RawSums begin_of_run(const RawWait& wait, std::uint64_t begin_ns);

}  // namespace overdue
