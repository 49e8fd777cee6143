#pragma once

#include <chrono>

#include "source/stop_signals.h"
#include "target/spawn.h"

namespace overdue {

/// Time for which measuring goes on after the program was signalled: its last calls are often the
/// interesting ones.
constexpr std::chrono::seconds grace_after_signal{2};

/// Waits for the end of a released program, and forwards the signals that the program does not get
/// from the terminal. Returns its exit status.
int pass_signals_until_end(SpawnedProgram& program, StopSignals& signals);

/// The same for a program that is no longer measured. Prints a message, unless `quiet`, if it runs.
int wait_unmeasured(SpawnedProgram& program, StopSignals& signals, bool quiet);

}  // namespace overdue
