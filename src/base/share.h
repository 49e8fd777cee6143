#pragma once

#include <cstdint>

namespace overdue {

/// The share that `part` has of `whole`, both in the same unit: 0 to 1, and 0 of nothing.
constexpr double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace overdue
