#pragma once

#include <string>

#include "analysis/stall_assembler.h"
#include "core/finding.h"
#include "core/stack_namer.h"

namespace overdue {

/// Turns a recorded stall into a finding of names and words.
Finding explain(const RawStall& stall, StackNamer& namer, const Names& names);

/// Adds the name, arguments and result from the record of a system call.
void add_call(Finding& finding, const Record& call, const Names& names);

/// Key of the cause of a finding: equal for equal causes, on every machine and in every build. Made
/// of the kind and name of the span, the kernel functions where the thread was blocked longest, the
/// kind of waker, the name of the thread without its digits, the largest part, the root of the
/// chain of wakers, and the innermost of the program's own functions.
std::string cause_of(const Finding& finding);

}  // namespace overdue
