#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace overdue {

/// The rows that a table shows: the first `top`, or, without a wish (0), the first `otherwise`.
template <typename Row>
std::span<const Row> shown(const std::vector<Row>& rows, std::size_t top, std::size_t otherwise) {
  return std::span(rows).first(std::min(rows.size(), top == 0 ? otherwise : top));
}

}  // namespace overdue
