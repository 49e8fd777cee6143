#include "core/breakdown.h"

#include <algorithm>
#include <tuple>

namespace overdue {
namespace {

auto key_of(const Share& share) {
  return std::tie(share.kind, share.number, share.name);
}

}  // namespace

void sort_longest_first(std::vector<Share>& shares) {
  std::ranges::sort(shares, [](const Share& one, const Share& other) {
    return one.ns != other.ns ? one.ns > other.ns : key_of(one) < key_of(other);
  });
}

Breakdown::Breakdown(std::initializer_list<Share> shares, std::uint64_t unexplained)
    : unexplained_ns(unexplained) {
  for (const Share& share : shares) of(share.kind, share.number, share.name) = share;
}

Share& Breakdown::of(ShareKind kind, std::uint32_t number, const std::string& name) {
  const auto key = std::tie(kind, number, name);
  const auto place = std::ranges::lower_bound(shares_, key, {}, key_of);
  if (place != shares_.end() && key_of(*place) == key) return *place;
  return *shares_.insert(place, Share{.kind = kind, .number = number, .name = name});
}

void Breakdown::count(ShareKind kind, std::uint32_t number, const std::string& name,
                      std::uint64_t ns) {
  Share& share = of(kind, number, name);
  ++share.count;
  share.ns += ns;
  share.max_ns = std::max(share.max_ns, ns);
}

void Breakdown::merge(const Breakdown& other) {
  for (const Share& more : other.shares_) {
    Share& share = of(more.kind, more.number, more.name);
    share.ns += more.ns;
    share.count += more.count;
    share.max_ns = std::max(share.max_ns, more.max_ns);
    share.before_irq_ns += more.before_irq_ns;
    share.ran_ns += more.ran_ns;
    share.threads = std::max(share.threads, more.threads);
    share.priority = std::min(share.priority, more.priority);
  }
  unexplained_ns += other.unexplained_ns;
}

std::uint64_t Breakdown::ns(ShareKind kind) const {
  std::uint64_t sum = 0;
  for (const Share& share : shares_)
    if (share.kind == kind) sum += share.ns;
  return sum;
}

std::uint64_t Breakdown::explained_ns() const {
  std::uint64_t sum = 0;
  for (const Share& share : shares_) sum += share.ns;
  return sum;
}

std::vector<Share> Breakdown::longest_first() const {
  std::vector<Share> sorted = shares_;
  sort_longest_first(sorted);
  return sorted;
}

}  // namespace overdue
