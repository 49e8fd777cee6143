#pragma once

#include <set>
#include <vector>

#include "report/why/other_ends.h"

namespace overdue {

/// The processes that have the other ends open at present. Bounded; what cannot be read is left
/// out.
std::vector<OtherEnd> find_other_ends(const std::set<AwaitedEnd>& wanted);

}  // namespace overdue
