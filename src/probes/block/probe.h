#pragma once

#include "kernel/span_probe.h"

namespace overdue {

extern const ProbeInfo block_probe;
extern const SpanSource block_spans;

}  // namespace overdue
