#pragma once

#include <span>

#include "analysis/cpu_samples.h"
#include "core/finding.h"
#include "core/stack_namer.h"

namespace overdue {

/// Where a thread was while it ran, equal places together. Of many samples some are looked at, as
/// far apart as they are; those are named, if they are not yet.
CpuPlaces cpu_places_of(std::span<RawSample* const> samples, StackNamer& namer);

/// The program's functions of a thread as it woke another; empty: not known.
Stack waking_stack_of(RawSample* sample, StackNamer& namer);

}  // namespace overdue
