#pragma once

#include <chrono>

#include "cli/stop_signals.h"
#include "target/spawn.h"

namespace overdue {

/// How long a program that was signalled is measured on: its last calls are often the interesting
/// ones.
constexpr std::chrono::seconds grace_after_signal{2};

/// Waits for the end of a program that was released, and passes signals on to it that it does not
/// get from the terminal. Returns its exit status.
int pass_signals_until_end(SpawnedProgram& program, StopSignals& signals);

/// The same of a program that is measured no longer. Says so, unless `quiet`, if it still runs.
int wait_unmeasured(SpawnedProgram& program, StopSignals& signals, bool quiet);

}  // namespace overdue
