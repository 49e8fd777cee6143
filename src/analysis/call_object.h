#pragma once

#include "bpf/call_object.h"
#include "core/finding.h"

namespace overdue {

/// The words for what the kernel side found behind a descriptor. The record may be damaged.
CallObject call_object_of(const call_object& raw);

/// Writes the object into the argument with the descriptor: "fd=3</var/log/x>".
void add_object(Finding& finding, const call_object& raw);

}  // namespace overdue
