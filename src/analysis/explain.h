#pragma once

#include <string>

#include "analysis/stall_assembler.h"
#include "core/finding.h"
#include "core/stack_namer.h"

namespace overdue {

/// What was recorded of a stall, in names and words.
Finding explain(const RawStall& stall, StackNamer& namer, const Names& names);

/// What equal causes have in common, whatever the machine and the build: kind and name of the
/// span, the functions where it was blocked longest, the class of what ended that, and the name of
/// the thread without its digits.
std::string cause_of(const Finding& finding);

/// Whether it was a wait for work rather than a delay of work: for input, for a client, for a
/// child. Decided by the function of the kernel it slept in, as docs/commands/stalls.md lists them.
bool is_idle(const Finding& finding);

}  // namespace overdue
