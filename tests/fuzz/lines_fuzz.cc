// Any bytes, as an ELF file with DWARF. No crash, no leak, bounded time, text that can be printed.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "symbols/lines.h"

namespace overdue {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void look_up(SourceLines& lines, std::uint64_t address) {
  for (const SourceLine& line : lines.find(address)) {
    require(printable_length(line.file.empty() ? " " : line.file) > 0);
    require(line.file.find('\n') == std::string::npos);
    require(line.function.find('\n') == std::string::npos);
  }
}

}  // namespace
}  // namespace overdue

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace overdue;
  if (size < 64) return 0;
  Fd file(memfd_create("fuzzed", MFD_CLOEXEC));
  require(write(file.get(), data, size) == static_cast<ssize_t>(size));
  SourceLines lines(std::move(file), {.section_bytes = 1u << 20,
                                      .units = 100,
                                      .ranges = 1000,
                                      .program_bytes = 1u << 16,
                                      .entries = 10000,
                                      .depth = 64,
                                      .time = std::chrono::milliseconds(200)});
  if (!lines.has_debug_info()) return 0;
  std::uint64_t entry;
  std::memcpy(&entry, data + 24, sizeof entry);
  for (const std::uint64_t offset : {0u, 1u, 16u, 64u, 256u}) look_up(lines, entry + offset);
  return 0;
}
