#pragma once

#include "core/finding.h"
#include "core/members.h"

namespace overdue {

// The members of findings and of their parts; docs/commands/stalls.md explains them.

void describe(Members& member, const StackFrame& frame);
void describe(Members& member, const ThreadName& thread);
void describe(Members& member, const Throttle& throttle);
void describe(Members& member, const Waker& waker);
void describe(Members& member, const StopSignal& stop);
void describe(Members& member, const CallObject& object);
void describe(Members& member, const CpuPlace& place);
void describe(Members& member, const CpuPlaces& on_cpu);
void describe(Members& member, const CpuShare& share);
void describe(Members& member, const Wait& wait);
void describe(Members& member, const WaitPlace& place);
void describe(Members& member, const Breakdown& parts);
void describe(Members& member, const SignalHandler& handler);
void describe(Members& member, const ChainLink& link);
void describe(Members& member, const Finding& finding);
void describe(Members& member, const Repeats& repeats);

}  // namespace overdue
