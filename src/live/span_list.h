#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernel/features.h"
#include "target/selection.h"

namespace overdue {

/// A name that `--span` knows, for a list.
struct SpanEntry {
  std::string_view name;
  std::string_view sentence;  ///< what begins and what ends the span
  std::string_view needs;     ///< what the target must be or have; empty: nothing
  std::string missing;        ///< why the span cannot be measured; empty: it can
};

/// Every kind of span and every ready-made span, and whether this kernel has it, and the target.
std::vector<SpanEntry> list_spans(const Kernel& kernel, const TargetSelection& target,
                                  bool sandbox);

}  // namespace overdue
