#include "core/user_copy.h"

#include <algorithm>

#include "bpf/span.h"

namespace overdue {

UserCopy user_copy_at(std::span<const std::byte> bytes, std::size_t at, std::uint16_t flags,
                      std::uint16_t user_bytes) {
  if (!(flags & SPAN_HAS_USER_STACK) || bytes.size() < at) return {};
  const auto rest = bytes.subspan(at);
  const std::size_t size = std::min<std::size_t>(user_bytes, rest.size());
  const bool has_python = flags & SPAN_HAS_PYTHON && !(flags & SPAN_STACK_NAMED);
  return {rest.first(size), has_python ? rest.subspan(size) : rest.first(0)};
}

}  // namespace overdue
