#pragma once

#include "report/why/figures.h"

namespace overdue {

/// Makes causes of waits for asynchronous I/O of which no rule says whether they were for work. A
/// process with one thread, which a disk wakes from such a wait, has asked for the I/O itself.
void add_own_io(const WhyFindings& found, WhyFigures& figures);

}  // namespace overdue
