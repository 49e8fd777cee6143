#include "analysis/tracer_assembler.h"

namespace overdue {
namespace {

constexpr std::size_t longest_tracer_line = 4096;

}  // namespace

void TracerAssembler::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (rest_.size() < longest_tracer_line)
      rest_.append(part.substr(0, longest_tracer_line - rest_.size()));
    if (end == bytes.npos) return;
    line(rest_);
    rest_.clear();
    bytes.remove_prefix(end + 1);
  }
}

std::uint64_t TracerAssembler::monotonic(std::uint64_t trace_ns) const {
  const std::uint64_t moved = trace_ns + static_cast<std::uint64_t>(offset_ns_);
  const bool below = offset_ns_ < 0 && moved > trace_ns;
  return below ? 0 : moved;
}

}  // namespace overdue
