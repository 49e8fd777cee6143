#pragma once

#include "analysis/wait_habits.h"
#include "core/finding.h"

namespace overdue {

/// What the thread of a system call, or of a wait off the CPU, waited for. In this order: a sleep
/// is for the time that it asked for; a function on the way to the call says it
/// (wait_functions.h); a wait that timed out is for what did not come; a thread that waits in its
/// own main function waits for work. Else it is unknown: then a wait for input counts as meant,
/// unless it was for one descriptor, and so does a habit of several threads; others do not.
WaitPurpose purpose_of(const Finding& finding, WaitHabits& habits);

}  // namespace overdue
