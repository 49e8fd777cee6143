#include "source/program_end.h"

#include <poll.h>

#include <iterator>

#include "base/text.h"
#include "source/say.h"

namespace overdue {

int pass_signals_until_end(SpawnedProgram& program, StopSignals& signals) {
  while (true) {
    pollfd waits[]{{signals.fd(), POLLIN, 0}, {program.pidfd(), POLLIN, 0}};
    poll(waits, std::size(waits), -1);
    if (const auto signal = signals.take(); signal && !signal->from_terminal)
      program.forward(signal->number);
    if (const auto status = program.try_wait()) return *status;
  }
}

int wait_unmeasured(SpawnedProgram& program, StopSignals& signals, bool quiet) {
  if (const auto status = program.try_wait()) return *status;
  if (!quiet)
    say("overdue: no longer measuring; {} (pid {}) goes on, waiting for it\n",
        printable(program.path()), program.pid());
  return pass_signals_until_end(program, signals);
}

}  // namespace overdue
