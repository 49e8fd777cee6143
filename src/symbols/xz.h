#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace overdue {

/// Unpacks `packed`, an .xz stream, with at most 32 MiB of working memory. Nothing if the stream is
/// damaged, or the result would be longer than `limit` bytes.
std::optional<std::vector<std::byte>> unpack_xz(std::span<const std::byte> packed,
                                                std::size_t limit);

}  // namespace overdue
