#pragma once

#include <memory>
#include <vector>

#include "probes/pairs/hook.h"
#include "probes/pairs/spec.h"

namespace overdue {

/// Finds the events of user spans. Reads the files that the spans name in the sandbox, or, without
/// `sandbox`, with the caller's rights. Throws Error if no sandbox can be made.
std::shared_ptr<EventFinder> make_event_finder(const std::vector<PairSpec>& pairs, bool sandbox);

}  // namespace overdue
