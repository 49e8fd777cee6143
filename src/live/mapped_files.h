#pragma once

#include <string>
#include <vector>

#include "probes/pairs/spec.h"
#include "target/selection.h"

namespace overdue {

/// Replaces each event of a file `@GLOB` by one event for each file of such a name that processes
/// of the target have mapped. If they have none, the program that will be started, the libraries
/// beside it and those of the usual folders count. A ready-made span needs a file for one event of
/// each side only. The files are opened, and not read. Returns notes for the user. Throws Error if
/// a span has no file.
std::vector<std::string> find_mapped_files(std::vector<PairSpec>& pairs,
                                           const TargetSelection& selection);

}  // namespace overdue
