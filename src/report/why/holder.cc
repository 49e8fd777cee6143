#include "report/why/holder.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "report/why/known_waits.h"
#include "sinks/finding_words.h"

namespace overdue {
namespace {

/// Whether the chain ends at a JVM's VM thread that slept until the last thread had reached a
/// safepoint. The VM thread is not the cause; which thread it waited for is not known.
bool ends_at_safepoint(const std::vector<ChainLink>& chain, std::size_t vm_thread) {
  if (vm_thread + 2 != chain.size() || chain.back().means != of_timeout) return false;
  return std::ranges::any_of(chain[vm_thread].waking_stack, [](const StackFrame& frame) {
    return frame.name.starts_with("VMThread::");
  });
}

}  // namespace

std::uint64_t active_ns(const ChainLink& link) {
  if (!link.ledger) return link.what == "ran" ? link.ns : 0;
  return link.ledger->active_ns();
}

std::uint64_t ran_ns(const ChainLink& link) {
  return link.ledger ? link.ledger->ns(ShareKind::oncpu) : link.what == "ran" ? link.ns : 0;
}

Holder holder_in(const std::vector<ChainLink>& chain) {
  Holder longest;
  std::uint64_t longest_ns = 0;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (!chain[i].is_thread) continue;
    const ChainLink* next = i + 1 < chain.size() ? &chain[i + 1] : nullptr;
    const bool is_at_safepoint = ends_at_safepoint(chain, i + 1);
    const bool is_last = !next || !next->is_thread || is_at_safepoint;
    const std::uint64_t own_ns =
        is_last ? chain[i].ns + (is_at_safepoint ? next->ns : 0) : active_ns(chain[i]);
    if (!longest.link || own_ns >= longest_ns) {
      longest_ns = own_ns;
      longest.link = &chain[i];
      longest.end = is_last && next && !next->is_thread ? next : nullptr;
      longest.waited_for_next = !is_last;
      longest.is_at_safepoint = is_at_safepoint;
    }
    if (is_at_safepoint) break;
  }
  if (!longest.link) return longest;
  const std::string name = without_numbers(longest.link->thread.comm);
  for (const ChainLink& link : chain) {
    if (!link.is_thread || without_numbers(link.thread.comm) != name) continue;
    const bool is_whole = &link == longest.link && !longest.waited_for_next;
    longest.ns += is_whole ? std::max(longest_ns, active_ns(link)) : active_ns(link);
    longest.ran_ns += ran_ns(link);
  }
  return longest;
}

bool has_collected_garbage(const Holder& holder) {
  if (!holder.link) return false;
  const auto collects = [](const CpuPlace& place) { return collects_garbage(place.stack); };
  return collects_garbage(holder.link->waking_stack) ||
         std::ranges::any_of(holder.link->on_cpu.places, collects);
}

}  // namespace overdue
