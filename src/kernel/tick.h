#pragma once

#include "base/time.h"

namespace overdue {

/// Length of a tick of the kernel (a jiffy): the resolution of the coarse clocks. 0: not known.
Duration tick_length();

}  // namespace overdue
