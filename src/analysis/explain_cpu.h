#pragma once

#include <span>

#include "analysis/cpu_samples.h"
#include "core/finding.h"
#include "core/stack_namer.h"

namespace overdue {

/// Places where a thread was while it ran; equal places are merged. Of more than 64 samples, 64 are
/// used, evenly spaced. A sample that has no names yet is named.
CpuPlaces cpu_places_of(std::span<RawSample* const> samples, StackNamer& namer);

/// User stack of a thread as it woke another thread; empty: unknown.
Stack waking_stack_of(RawSample* sample, StackNamer& namer);

}  // namespace overdue
