#pragma once

#include <vector>

#include "core/probe.h"
#include "kernel/features.h"
#include "probes/pairs/plan.h"
#include "probes/pairs/spec.h"
#include "probes/pairs/types.h"
#include "probes/pairs/user_file.h"

namespace overdue {

/// Events of a span that compute the same, made ready for this kernel: one program.
struct Hook {
  enum class Kind {
    raw_tracepoint,  ///< with typed arguments
    tracepoint,      ///< with the fields of its format file
    function,
    function_return,
    user_function,
    user_return,
  };
  /// What to attach to.
  struct Place {
    EventSpec event;
    UserPlaces user;  ///< of user events
  };
  Kind kind = Kind::raw_tracepoint;
  plan steps{};
  bool has_filter = false;
  std::vector<Place> places;  ///< typed events have one: the program is made for it

  bool is_typed() const {
    return kind == Kind::raw_tracepoint || kind == Kind::function || kind == Kind::function_return;
  }
};

/// The sides of a span. A side has several hooks if its events, or the sites of a USDT probe, have
/// what it computes from in different places.
struct HookPair {
  std::vector<Hook> begin, end, drop;
};
/// Throws Error: exit status 2 if the text is wrong, 1 if the kernel does not allow the hooks
/// (pair_support() says so in advance).
HookPair make_hooks(const PairSpec& spec, const KernelTypes& types, const Kernel& kernel,
                    EventFinder& finder);

/// Whether this kernel allows the kinds of events that the span is made of.
Support pair_support(const PairSpec& spec, const Kernel& kernel);

}  // namespace overdue
