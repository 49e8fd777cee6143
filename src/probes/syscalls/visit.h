#pragma once

#include "core/record.h"

namespace overdue {

/// A syscall_call, behind its header, as people read it: name, decoded arguments ("args"), return
/// value, latency.
void visit_call(const Record& record, const Names& names, FieldVisitor& visitor);

}  // namespace overdue
