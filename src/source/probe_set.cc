#include "source/probe_set.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "kernel/membership.h"

namespace overdue {

std::size_t default_ring_bytes() {
  constexpr std::size_t most = 16 << 20, least = 1 << 20, in_all = 256 << 20;
  return std::clamp(std::bit_floor(in_all / possible_cpu_count()), least, most);
}

void ProbeSet::set(const std::vector<std::string_view>&) {
  throw Error("nothing of this session can be changed while it runs");
}

}  // namespace overdue
