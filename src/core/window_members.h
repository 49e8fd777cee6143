#pragma once

#include "core/latency_window.h"
#include "core/members.h"

namespace overdue {

void describe(Members& member, const LatencyWindow& window);
/// The cells of a window in CSV: the latency and its threads, without stacks and events.
void describe_window_cells(Members& cell, const LatencyWindow& window);

}  // namespace overdue
