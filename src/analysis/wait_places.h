#pragma once

#include <span>
#include <vector>

#include "analysis/stall_assembler.h"

namespace overdue {

/// The place of `wait`, by its state and stack: one of `places`, or a new one behind them. A wait
/// without a stack was in an unknown place: it has one for itself.
RawPlace& place_among(std::vector<RawPlace>& places, const RawWait& wait);

/// `waits` of one thread together by their places, that in which it was blocked longest first.
/// `shorter`: sums of waits of the same call without records of their own; null: there are none.
/// Those of a place in which none of `waits` was are left out, for the place is unknown.
std::vector<RawPlace> places_of(std::span<const RawWait* const> waits, const wait_places* shorter);

}  // namespace overdue
