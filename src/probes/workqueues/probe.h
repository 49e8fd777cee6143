#pragma once

#include "kernel/span_probe.h"

namespace overdue {

extern const ProbeInfo workqueues_probe;
extern const SpanSource workqueues_spans;

}  // namespace overdue
