#pragma once

#include <string_view>

#include "probes/pairs/fields.h"
#include "probes/pairs/plan.h"
#include "probes/pairs/spec.h"
#include "probes/pairs/types.h"

namespace overdue {

/// Compiles the expressions of one side of `spec` against the fields of `event`, one of its events.
/// Throws Error (exit status 2) with the position in the span's text and a correction.
plan compile_side(const PairSpec& spec, const SideSpec& side, const EventSpec& event,
                  const EventFields& fields, const KernelTypes& types);

}  // namespace overdue
