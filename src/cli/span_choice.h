#pragma once

#include <string>
#include <vector>

#include "bpf/span.h"
#include "kernel/span_probe.h"
#include "probes/pairs/spec.h"

namespace overdue {

/// What `--span` asks for.
struct SpanChoice {
  std::vector<span_kind> kinds;  ///< each once, by number; SPAN_PAIR where there are pairs
  std::vector<PairSpec> pairs;   ///< the user's own
  bool all = false;              ///< every built-in kind that the kernel allows

  bool has(span_kind kind) const;
  std::vector<std::string> pair_names() const;
};

/// Values of `--span`: kinds with commas between them, `all`, or one user-defined span. Without
/// any, system calls. Throws Error (exit status 2) for what is neither.
SpanChoice parse_spans(const std::vector<std::string>& values);

/// Whether this kernel can measure `kind`, of the built-in ones.
Support span_support(const Kernel& kernel, span_kind kind);

}  // namespace overdue
