#pragma once

#include <string>

#include "analysis/stall_assembler.h"
#include "core/finding.h"
#include "core/stack_namer.h"

namespace overdue {

/// What was recorded of a stall, in names and words.
Finding explain(const RawStall& stall, StackNamer& namer, const Names& names);

/// Adds what the record of a system call says: name, arguments, result.
void add_call(Finding& finding, const Record& call, const Names& names);

/// What equal causes have in common, whatever the machine and the build: kind and name of the
/// span, the functions where it was blocked longest, the class of what ended that, the name of the
/// thread without its digits, the kind of the largest part, the root of the chain of wakers, and
/// the innermost of the program's own functions.
std::string cause_of(const Finding& finding);

}  // namespace overdue
