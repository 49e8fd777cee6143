#pragma once

#include <span>
#include <vector>

#include "analysis/stall_assembler.h"

namespace overdue {

/// The place of `wait`, by its state and stack: one of `places`, or a new one at their end. A wait
/// without a stack gets a place of its own, because its place is unknown.
RawPlace& place_among(std::vector<RawPlace>& places, const RawWait& wait);

/// Groups the `waits` of one thread by place; the place with the longest blocked time is first.
/// `shorter`: sums of waits of the same call that have no records of their own; null: none. A sum
/// is left out if none of `waits` was in its place: that place is unknown.
std::vector<RawPlace> places_of(std::span<const RawWait* const> waits, const wait_places* shorter);

}  // namespace overdue
