#include "analysis/noise_shares.h"

#include <algorithm>

namespace overdue {

NoiseShare& NoiseShares::of(u32 kind, u32 number, const std::string& name) {
  const auto [found, is_new] = shares_.try_emplace({kind, number, name});
  if (is_new) {
    found->second.kind = kind;
    found->second.number = number;
    found->second.name = name;
  }
  return found->second;
}

void NoiseShares::count(u32 kind, u32 number, const std::string& name, std::uint64_t ns) {
  NoiseShare& share = of(kind, number, name);
  ++share.count;
  share.ns += ns;
  share.max_ns = std::max(share.max_ns, ns);
}

void NoiseShares::merge(const NoiseShares& other) {
  for (const auto& [key, more] : other.shares_) {
    NoiseShare& share = of(more.kind, more.number, more.name);
    share.count += more.count;
    share.ns += more.ns;
    share.max_ns = std::max(share.max_ns, more.max_ns);
    share.before_irq_ns += more.before_irq_ns;
    share.priority = std::min(share.priority, more.priority);
  }
}

std::vector<NoiseShare> NoiseShares::longest_first() const {
  std::vector<NoiseShare> all;
  for (const auto& [key, share] : shares_) all.push_back(share);
  std::ranges::sort(all, [](const NoiseShare& a, const NoiseShare& b) {
    return std::tie(b.ns, a.kind, a.number, a.name) < std::tie(a.ns, b.kind, b.number, b.name);
  });
  return all;
}

std::uint64_t NoiseShares::total_ns() const {
  std::uint64_t sum = 0;
  for (const auto& [key, share] : shares_) sum += share.ns;
  return sum;
}

}  // namespace overdue
