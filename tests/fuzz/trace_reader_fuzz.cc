// Any bytes, read as a trace file: no crash, no leak, no record outside its bounds, no damage
// outside the file.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <span>

#include "base/error.h"
#include "core/record.h"
#include "trace/chunk.h"
#include "trace/reader.h"
#include "trace/test_support.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace overdue {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

/// Touches every byte it is given, so that the sanitizers see a bad view.
class TouchingSink final : public Sink {
 public:
  void begin(const SessionInfo& info) override { touch(info); }
  void record(const Record& record) override {
    require(record.schema != nullptr);
    require(record.bytes.size() >= sizeof(event_header));
    require(record.header().size == record.bytes.size());
    require(record.header().kind == record.schema->id);
    for (const std::byte byte : record.bytes) sum_ += static_cast<std::uint64_t>(byte);
    touch(record.schema->name);
    for (const Field& field : record.schema->fields) {
      require(field.offset + field.size <= record.schema->size);
      require(field.unit <= Unit::opaque && field.role <= Role::stack);
      touch(field.name);
      touch(field.help);
    }
  }
  void end(const SessionInfo& info, const Receipt& receipt) override {
    touch(info);
    sum_ += receipt.lost();
  }

 private:
  void touch(std::string_view text) {
    for (const char c : text) sum_ += static_cast<unsigned char>(c);
  }
  void touch(const SessionInfo& info) {
    touch(info.host);
    for (const auto& note : info.notes) touch(note);
    for (const auto& [id, path] : info.names.cgroups) touch(path);
  }
  volatile std::uint64_t sum_ = 0;
};

// Makes the checks right again wherever a chunk header seems to be, so that mutations get past
// them.
void sign(std::span<std::byte> file) {
  if (file.size() < trace_format::file_header_size) return;
  const auto start = FileHeader{}.encode();
  std::copy(start.begin(), start.end(), file.begin());
  std::size_t at = trace_format::file_header_size;
  for (std::uint32_t sequence = 0; file.size() - at >= trace_format::chunk_header_size;
       ++sequence) {
    const auto head = file.subspan(at);
    ChunkHeader header;
    header.type = get<std::uint16_t>(head, 4);
    header.flags = get<std::uint16_t>(head, 6);
    header.stored_size = get<std::uint32_t>(head, 8);
    header.raw_size = get<std::uint32_t>(head, 12);
    header.record_count = get<std::uint32_t>(head, 20);
    header.records_before = get<std::uint64_t>(head, 24);
    header.sequence = sequence;
    const std::size_t room = head.size() - trace_format::chunk_header_size;
    header.stored_size =
        static_cast<std::uint32_t>(std::min<std::size_t>(header.stored_size, room));
    if (!(header.flags & trace_format::flag_zstd)) header.raw_size = header.stored_size;
    header.payload_check =
        trace_check(head.subspan(trace_format::chunk_header_size, header.stored_size));
    const auto encoded = header.encode();
    std::copy(encoded.begin(), encoded.end(), head.begin());
    at += trace_format::chunk_header_size + header.stored_size;
  }
}

void read(std::span<const std::byte> bytes, std::span<const Schema* const> known) {
  try {
    TraceReader reader(bytes, known);
    TouchingSink sink;
    reader.replay(sink);
    for (const Damage& damage : reader.damage()) {
      require(damage.offset <= bytes.size());
      require(damage.bytes <= bytes.size() - damage.offset);
    }
  } catch (const Error&) {
    // Refused: no recording, or of another format.
  }
}

}  // namespace
}  // namespace overdue

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 4 != 0) overdue::sign(std::as_writable_bytes(std::span(data, size)));
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  overdue::read(bytes, {});
  overdue::read(bytes, overdue::trace_test::schemas);
  return 0;
}
