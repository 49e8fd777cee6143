#pragma once

#include "kernel/span_probe.h"

namespace overdue {

extern const ProbeInfo locks_probe;
extern const SpanSource locks_spans;

}  // namespace overdue
