#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace overdue {

/// What `packed`, an .xz stream, unpacks to, with at most 32 MiB of memory for the work; nothing
/// where it is damaged or would be longer than `limit`.
std::optional<std::vector<std::byte>> unpack_xz(std::span<const std::byte> packed,
                                                std::size_t limit);

}  // namespace overdue
