#pragma once

#include <cstdint>
#include <vector>

#include "core/finding.h"

namespace overdue {

/// The link with most of the delay that no later link explains, and the time of all links of
/// threads with its name: threads in a row that hold a lock in turn are one root.
struct Holder {
  const ChainLink* link = nullptr;
  const ChainLink* end = nullptr;  ///< the interrupt that ended its wait; null: none, or a thread
  bool waited_for_next = false;    ///< the link's own wait has a link of its own
  bool is_at_safepoint = false;    ///< a JVM kept the thread at a safepoint
  std::uint64_t ns = 0, ran_ns = 0;
};

/// The holder in a chain of wakers; without a link if the chain has no thread. Its pointers are
/// into `chain`.
Holder holder_in(const std::vector<ChainLink>& chain);

/// Time of the link's thread outside the wait that the next link explains.
std::uint64_t active_ns(const ChainLink& link);

/// Whether the holder is a thread of a JVM that collected garbage.
bool has_collected_garbage(const Holder& holder);

/// Time of the link's thread on the CPU.
std::uint64_t ran_ns(const ChainLink& link);

}  // namespace overdue
