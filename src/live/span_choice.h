#pragma once

#include <string>
#include <vector>

#include "bpf/span.h"
#include "kernel/span_probe.h"
#include "probes/pairs/spec.h"

namespace overdue {

/// The spans that `--span` chooses.
struct SpanChoice {
  std::vector<span_kind> kinds;  ///< each once, in order; SPAN_PAIR if there are user spans
  std::vector<PairSpec> pairs;   ///< user spans
  bool all = false;              ///< every built-in kind that the kernel allows

  bool has(span_kind kind) const;
  std::vector<std::string> pair_names() const;
};

/// Parses the values of `--span`: kinds separated by commas, `all`, or one user span. Without
/// values, system calls. Throws Error (exit status 2) for any other value.
SpanChoice parse_spans(const std::vector<std::string>& values);

/// Whether this kernel can measure the built-in `kind`.
Support span_support(const Kernel& kernel, span_kind kind);

}  // namespace overdue
