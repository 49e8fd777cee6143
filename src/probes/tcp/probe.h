#pragma once

#include "kernel/span_probe.h"

namespace overdue {

extern const ProbeInfo tcp_probe;
extern const SpanSource tcp_spans;

}  // namespace overdue
