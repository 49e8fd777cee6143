#pragma once

#include "analysis/wait_habits.h"
#include "core/finding.h"

namespace overdue {

/// Purpose of the wait of a system call, or of a wait off the CPU. In this order: a sleep is for
/// the time that it asked for, unless the event loop of its thread waits meanwhile; a function on
/// the way to the call decides (wait_functions.h); a wait on one socket is for an answer or for
/// work, by the side of its connection; a wait that timed out was for something that did not come;
/// a thread that waits in its own main function waits for work. Otherwise the purpose is unknown.
/// Then a wait for events or input, unless for one descriptor, and a habit of several threads are
/// no delay; other waits are delays. Spans of other kinds keep the purpose that they have.
WaitPurpose purpose_of(const Finding& finding, WaitHabits& habits);

/// Whether a kernel thread, or a worker of io_uring, sleeps in its main function: it has nothing to
/// do.
bool is_main_loop(const Stack& kernel_stack);

/// Whether the thread waits in a callback of its event loop, which waits meanwhile.
bool holds_up_event_loop(const Finding& finding);

}  // namespace overdue
