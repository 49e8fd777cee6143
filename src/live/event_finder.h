#pragma once

#include <memory>
#include <vector>

#include "live/stall_probe_set.h"
#include "probes/pairs/spec.h"
#include "target/selection.h"

namespace overdue {

/// Makes the user spans of a session with this target ready: opens the files that the target has
/// mapped, and sets the finder, which reads files in the sandbox, or, without `sandbox`, with the
/// caller's rights. Throws Error if a file is missing or no sandbox can be made.
void prepare_user_spans(StallOptions& options, const TargetSelection& target, bool sandbox);

/// Such a finder alone.
std::shared_ptr<EventFinder> make_event_finder(const std::vector<PairSpec>& pairs, bool sandbox);

}  // namespace overdue
