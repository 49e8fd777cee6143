// Writes the kept corpus: small files that reach every part of the reader. Usage: make_trace_corpus
// DIRECTORY

#include <fstream>
#include <string>

#include "trace/codec.h"
#include "trace/test_support.h"

namespace overdue {
namespace {

using trace_format::ChunkType;

void keep(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary) << as_text(bytes);
}

void make_corpus(const std::string& directory) {
  const std::vector<Bytes> records = {trace_test::wait_record(1), trace_test::text_record(2, "two"),
                                      trace_test::wait_record(3)};
  const Bytes whole = trace_test::write_trace(records, 2);
  keep(directory + "/whole.odt", whole);
  keep(directory + "/cut.odt", std::span(whole).first(whole.size() * 2 / 3));
  Bytes damaged = whole;
  damaged[trace_format::file_header_size + 9] ^= std::byte{1};
  keep(directory + "/damaged.odt", damaged);

  // Nothing compressed, so that mutations reach the payloads.
  Schema newer = trace_test::wait_schema;
  newer.size = 64;
  trace_test::TraceBuilder plain;
  plain.chunk(ChunkType::schema, encode_schema(newer))
      .chunk(ChunkType::schema, encode_schema(trace_test::text_schema))
      .chunk(ChunkType::info, encode_info(trace_test::sample_info()))
      .chunk(ChunkType::records, trace_test::concatenated(records), 3)
      .chunk(99, as_bytes("unknown"))
      .chunk(ChunkType::receipt, encode_receipt(trace_test::sample_receipt()))
      .chunk(ChunkType::end, {});
  keep(directory + "/plain.odt", plain.bytes());
}

}  // namespace
}  // namespace overdue

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  overdue::make_corpus(argv[1]);
}
