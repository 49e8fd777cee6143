#pragma once

#include "core/record.h"

namespace overdue {

/// A syscall_call, without its header, in readable form: name, decoded arguments ("args"), return
/// value, latency.
void visit_call(const Record& record, const Names& names, FieldVisitor& visitor);

}  // namespace overdue
