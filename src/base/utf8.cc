#include "base/utf8.h"

namespace overdue {

void append_utf8(std::string& text, std::uint32_t character) {
  const auto put = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (character < 0x80) return put(character);
  if (character < 0x800) {
    put(0xc0 | character >> 6);
  } else {
    if (character < 0x10000) {
      put(0xe0 | character >> 12);
    } else {
      put(0xf0 | (character >> 18 & 7));
      put(0x80 | (character >> 12 & 0x3f));
    }
    put(0x80 | (character >> 6 & 0x3f));
  }
  put(0x80 | (character & 0x3f));
}

}  // namespace overdue
