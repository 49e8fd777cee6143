#pragma once

#include <vector>

#include "core/probe.h"
#include "kernel/features.h"
#include "probes/pairs/plan.h"
#include "probes/pairs/spec.h"
#include "probes/pairs/types.h"
#include "probes/pairs/user_file.h"

namespace overdue {

/// One event of a span, made ready for this kernel: what to attach to, and what to compute there.
struct Hook {
  enum class Kind {
    raw_tracepoint,  ///< with typed arguments
    tracepoint,      ///< with the fields of its format file
    function,
    function_return,
    user_function,
    user_return,
  };
  Kind kind = Kind::raw_tracepoint;
  EventSpec event;
  plan steps{};
  bool has_filter = false;
  UserPlaces places;  ///< of user events
};

/// Both sides of a span. A side has one hook, or, for a USDT probe whose sites have their arguments
/// in different places, several.
struct HookPair {
  std::vector<Hook> begin, end;
};
/// Throws Error: exit status 2 if the text is wrong, 1 if the kernel does not allow the hooks
/// (pair_support() says so in advance).
HookPair make_hooks(const PairSpec& spec, const KernelTypes& types, const Kernel& kernel,
                    EventFinder& finder);

/// Whether this kernel allows the kinds of events that the span is made of.
Support pair_support(const PairSpec& spec, const Kernel& kernel);

}  // namespace overdue
