#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "bpf/span.h"
#include "kernel/span_probe.h"
#include "probes/pairs/spec.h"

namespace overdue {

/// The spans that `--span` chooses.
struct SpanChoice {
  std::vector<span_kind> kinds;  ///< each once, in order; SPAN_PAIR if there are user spans
  std::vector<PairSpec> pairs;   ///< user spans
  SpanKinds optional = 0;        ///< kinds of groups: left out where the kernel cannot measure them

  bool has(span_kind kind) const;
  bool is_optional(span_kind kind) const { return (optional & kinds_of({kind})) != 0; }
  SpanKinds kind_set() const;
  std::vector<std::string> pair_names() const;
};

/// Every name of one span that `--span` and `--events` know: kinds, and ready-made spans.
std::vector<std::string_view> span_names();

/// The kind that a name of `--span` stands for: SPAN_PAIR for a ready-made span.
std::optional<span_kind> span_called(std::string_view name);

/// The error for a name of `option` that is not one of `names`: what is near, and what there is.
Error no_such_span(std::string_view option, std::string_view what, std::string_view name,
                   const std::vector<std::string_view>& names);

/// Parses the values of `--span`: kinds and ready-made spans separated by commas, `all`, or one
/// user span. Without
/// values, system calls. Throws Error (exit status 2) for any other value.
SpanChoice parse_spans(const std::vector<std::string>& values);

/// Whether a thread may wait during a span of this kind.
bool is_explained_by_waits(span_kind kind);

/// Whether spans of this kind end in their own thread, which then copies its stack.
bool may_have_user_stack(span_kind kind);

/// Whether this kernel can measure the built-in `kind`.
Support span_support(const Kernel& kernel, span_kind kind);

}  // namespace overdue
