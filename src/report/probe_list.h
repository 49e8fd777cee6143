#pragma once

#include <vector>

#include "core/members.h"
#include "core/probe.h"
#include "core/span_kinds.h"

namespace overdue {

/// The kinds of span of a probe that measures spans alone.
std::vector<SpanKind> spans_of(const ProbeInfo& probe);

void describe(Members& member, const ProbeInfo& probe);

/// The document of `overdue probes -f json`.
void describe_probes(Members& member);

}  // namespace overdue
