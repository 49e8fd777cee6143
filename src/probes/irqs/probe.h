#pragma once

#include "kernel/span_probe.h"

namespace overdue {

extern const ProbeInfo irqs_probe;
extern const SpanSource irqs_spans;

}  // namespace overdue
