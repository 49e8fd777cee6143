#pragma once

#include <vector>

#include "report/why/open_waits.h"

namespace overdue {

/// Who must end these waits, at present: the owners of locks of the C library, with what they do;
/// or what stopped a process.
/// Bounded; a wait that has ended, or whose other side is not known for certain, is left out.
std::vector<OtherSide> other_sides_of(const std::vector<OpenWait>& waits);

}  // namespace overdue
