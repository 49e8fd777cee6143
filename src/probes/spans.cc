#include "probes/spans.h"

#include "probes/block/probe.h"
#include "probes/irqs/probe.h"
#include "probes/locks/probe.h"
#include "probes/tcp/probe.h"
#include "probes/timers/probe.h"
#include "probes/workqueues/probe.h"

namespace overdue {

std::span<const SpanSource* const> span_sources() {
  static const SpanSource* const sources[] = {&irqs_spans,  &timers_spans, &workqueues_spans,
                                              &block_spans, &locks_spans,  &tcp_spans};
  return sources;
}

const SpanSource* span_source(span_kind kind) {
  const auto sources = span_sources();
  const auto found = std::find_if(sources.begin(), sources.end(), [kind](const SpanSource* source) {
    return (source->kinds() & kinds_of({kind})) != 0;
  });
  return found == sources.end() ? nullptr : *found;
}

}  // namespace overdue
