#pragma once

#include "kernel/span_probe.h"

namespace overdue {

extern const ProbeInfo timers_probe;
extern const SpanSource timers_spans;

}  // namespace overdue
