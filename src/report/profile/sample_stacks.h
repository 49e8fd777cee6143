#pragma once

#include "core/record.h"
#include "core/stack_namer.h"

namespace overdue {

/// The stacks of a profile_sample record, innermost first.
struct SampleStacks {
  Stack kernel;  ///< empty: the thread ran in its program
  StackNamer::UserStack user;
};
SampleStacks stacks_of_sample(const Record& record, StackNamer& namer);

}  // namespace overdue
