#include "report/tracer_text.h"

#include <cstring>
#include <vector>

#include "base/time.h"
#include "bpf/worst.h"
#include "probes/worst/probe.h"

namespace overdue {
namespace {

constexpr std::size_t max_tracer_text = std::size_t{64} << 20;

}  // namespace

void deliver_tracer_text(std::string_view text, const RecordHandler& handler) {
  tracer_text fixed{};
  fixed.header.time_ns = KernelClock::now_ns();
  fixed.header.kind = RECORD_TRACER_TEXT;
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, TRACER_TEXT_MAX);
    text.remove_prefix(piece.size());
    fixed.header.size = static_cast<u16>(sizeof fixed + piece.size());
    std::vector<std::byte> bytes(fixed.header.size);
    std::memcpy(bytes.data(), &fixed, sizeof fixed);
    std::memcpy(bytes.data() + sizeof fixed, piece.data(), piece.size());
    handler({&tracer_text_schema, bytes});
  }
}

void append_tracer_text(const Record& record, std::string& text) {
  if (record.bytes.size() <= sizeof(tracer_text)) return;
  const auto piece = record.bytes.subspan(sizeof(tracer_text));
  if (text.size() + piece.size() > max_tracer_text) return;
  text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
}

}  // namespace overdue
