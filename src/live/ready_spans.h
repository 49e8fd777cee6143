#pragma once

#include <span>
#include <string>
#include <string_view>

#include "probes/pairs/spec.h"

namespace overdue {

/// A user span that Overdue defines: a request, or another operation that people know by name.
struct ReadySpan {
  std::string_view name;
  std::string_view sentence;    ///< what begins and what ends it
  std::string_view needs;       ///< what the target must be or have, for lists; empty: nothing
  std::string_view definition;  ///< what follows NAME=, in the language of docs/spans.md
};

/// All of them, in the order of lists.
std::span<const ReadySpan> ready_spans();

/// Nothing if there is no such span.
const ReadySpan* find_ready_span(std::string_view name);

/// Its parsed definition. Files `@GLOB` of its events are still to be found.
PairSpec pair_of(const ReadySpan& ready);

}  // namespace overdue
