#include "probes/spans.h"

#include <algorithm>

namespace overdue {

std::vector<const SpanSource*> span_sources() {
  std::vector<const SpanSource*> sources;
  for (const ProbeInfo* probe : all_probes())
    if (probe->spans) sources.push_back(probe->spans);
  return sources;
}

const SpanSource* span_source(span_kind kind) {
  const auto sources = span_sources();
  const auto found = std::ranges::find_if(sources, [kind](const SpanSource* source) {
    return (source->kinds() & kinds_of({kind})) != 0;
  });
  return found == sources.end() ? nullptr : *found;
}

}  // namespace overdue
