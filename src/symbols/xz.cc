#include "symbols/xz.h"

#include <lzma.h>

#include <algorithm>

namespace overdue {

std::optional<std::vector<std::byte>> unpack_xz(std::span<const std::byte> packed,
                                                std::size_t limit) {
  constexpr std::uint64_t work_memory =
      32u << 20;  // xz -9 needs 65 MiB, yet no packager uses it for this
  constexpr std::size_t step = 256u << 10;
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, work_memory, 0) != LZMA_OK) return std::nullopt;
  stream.next_in = reinterpret_cast<const std::uint8_t*>(packed.data());
  stream.avail_in = packed.size();
  std::vector<std::byte> out;
  lzma_ret result = LZMA_OK;
  while (result == LZMA_OK) {
    const std::size_t have = out.size();
    // One byte more than allowed, so that "exactly the limit" and "more" differ.
    out.resize(std::min(std::max(have * 2, step), limit + 1));
    if (out.size() == have) break;
    stream.next_out = reinterpret_cast<std::uint8_t*>(out.data()) + have;
    stream.avail_out = out.size() - have;
    result = lzma_code(&stream, LZMA_FINISH);
    out.resize(out.size() - stream.avail_out);
  }
  lzma_end(&stream);
  if (result != LZMA_STREAM_END || out.size() > limit) return std::nullopt;
  return out;
}

}  // namespace overdue
