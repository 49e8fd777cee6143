// The format itself: the example of docs/trace-format.md, chunks, field lists, payloads.

#include <fstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "trace/codec.h"
#include "trace/field_list.h"
#include "trace/test_support.h"

namespace overdue::trace_test {
namespace {

using trace_format::ChunkType;

// The bytes between ```hex and ```: offset, two-digit bytes, # and a remark.
Bytes documented_example() {
  const char* source = std::getenv("OVERDUE_SOURCE");
  std::ifstream page(std::string(source ? source : ".") + "/docs/trace-format.md");
  EXPECT_TRUE(page.is_open()) << "OVERDUE_SOURCE must name the source tree";
  Bytes bytes;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("```")) inside = line == "```hex";
    if (!inside || line.empty() || line[0] == '#' || line[0] == '`') continue;
    EXPECT_EQ(std::stoul(line.substr(0, 4), nullptr, 16), bytes.size()) << line;
    const std::string digits = line.substr(4, line.find('#') - 4);
    for (std::size_t at = digits.find_first_not_of(' '); at != std::string::npos;
         at = digits.find_first_not_of(' ', at + 2))
      bytes.push_back(static_cast<std::byte>(std::stoul(digits.substr(at, 2), nullptr, 16)));
  }
  return bytes;
}

Schema example_schema(Field& field) {
  field = wait_fields[0];
  field.help = "";
  Schema schema = wait_schema;
  schema.help = "";
  schema.fields = {&field, 1};
  return schema;
}

TEST(TraceFormat, ExampleOnThePageIsWhatTheCodeWrites) {
  Field field{};
  const Bytes written = TraceBuilder()
                            .chunk(ChunkType::schema, encode_schema(example_schema(field)))
                            .chunk(ChunkType::records, wait_record(5), 1)
                            .chunk(ChunkType::end, {})
                            .bytes();
  EXPECT_EQ(documented_example(), written);
}

TEST(TraceFormat, ExampleOnThePageIsReadAsThePageSays) {
  const Bytes example = documented_example();
  TraceReader reader(example);
  EXPECT_TRUE(reader.complete());
  EXPECT_TRUE(reader.damage().empty());
  MemorySink sink;
  reader.replay(sink);
  ASSERT_EQ(sink.records.size(), 1U);
  const Schema& schema = *sink.record_schemas[0];
  EXPECT_EQ(schema.id, 900);
  EXPECT_EQ(schema.name, "wait");
  EXPECT_EQ(schema.size, 56);
  ASSERT_EQ(schema.fields.size(), 1U);
  EXPECT_EQ(schema.fields[0].name, "wait_ns");
  EXPECT_EQ(schema.fields[0].offset, 48);
  EXPECT_EQ(schema.fields[0].unit, Unit::nanoseconds);
  EXPECT_EQ(schema.fields[0].role, Role::duration);
  const auto event = Record{&schema, sink.records[0]}.as<wait_event>();
  EXPECT_EQ(event.wait_ns, 5U);
  EXPECT_EQ(event.header.tid, 43U);
}

TEST(TraceFormat, NumbersAreLittleEndian) {
  Bytes bytes;
  put<std::uint32_t>(bytes, 0x04030201U);
  EXPECT_EQ(bytes, (Bytes{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}}));
  EXPECT_EQ(get<std::uint32_t>(bytes), 0x04030201U);
  EXPECT_EQ(get<std::uint16_t>(bytes, 2), 0x0403U);
}

TEST(TraceFormat, ChunkHeaderSurvivesAndIsRefusedWithAnyBitFlipped) {
  ChunkHeader header;
  header.type = 3;
  header.stored_size = 100;
  header.raw_size = 200;
  header.sequence = 7;
  header.record_count = 9;
  header.records_before = 1ULL << 40;
  header.payload_check = 0x1122334455667788;
  auto bytes = header.encode();
  const auto decoded = ChunkHeader::decode(bytes);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->encode(), bytes);
  EXPECT_EQ(decoded->records_before, 1ULL << 40);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_FALSE(ChunkHeader::decode(bytes)) << "bit " << bit;
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
  }
}

TEST(TraceFormat, ChunkHeaderRefusesSizesBeyondTheLimit) {
  ChunkHeader header;
  header.stored_size = trace_format::max_payload;
  EXPECT_TRUE(ChunkHeader::decode(header.encode()));
  ++header.stored_size;
  EXPECT_FALSE(ChunkHeader::decode(header.encode()));
  header.stored_size = 0;
  header.raw_size = UINT32_MAX;
  EXPECT_FALSE(ChunkHeader::decode(header.encode()));
}

TEST(TraceFormat, FieldListStopsAtAFieldThatOverruns) {
  Bytes bytes;
  FieldListWriter(bytes).number(1, 5);
  put<std::uint16_t>(bytes, 2);
  put<std::uint32_t>(bytes, 1000);
  FieldListReader list(bytes);
  const auto first = list.next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->number(), 5U);
  EXPECT_FALSE(list.next());
  EXPECT_FALSE(list.at_end());
}

TEST(TraceFormat, UnknownTagsAreSkipped) {
  Bytes bytes;
  FieldListWriter list(bytes);
  list.text(999, "from the future");
  list.text(trace_format::info_host, "here");
  list.list(trace_format::info_target, [](FieldListWriter& inner) {
    inner.number(77, 1);
    inner.text(trace_format::target_kind, "pid");
  });
  const SessionInfo info = decode_info(bytes);
  EXPECT_EQ(info.host, "here");
  EXPECT_EQ(info.target.kind, "pid");
}

TEST(TraceFormat, NamesThatDoNotFitAreLeftOutAndSaidSo) {
  SessionInfo info = sample_info();
  const std::string path(200'000, 'x');
  for (std::uint64_t id = 0; id < 100; ++id) info.names.cgroups[1000 + id] = path;
  const Bytes payload = encode_info(info);
  EXPECT_LE(payload.size(), trace_format::max_payload);
  const SessionInfo decoded = decode_info(payload);
  EXPECT_GT(decoded.names.cgroups.size(), 80U);
  EXPECT_LT(decoded.names.cgroups.size(), info.names.cgroups.size());
  ASSERT_EQ(decoded.notes.size(), 2U);
  EXPECT_NE(decoded.notes[1].find("did not fit"), std::string::npos);
}

TEST(TraceFormat, SchemaFieldsThatDoNotFitTheRecordAreLeftOut) {
  std::array fields = {
      Field{"good", 48, 8, Unit::count, Role::value, ""},
      Field{"beyond", 52, 8, Unit::count, Role::value, ""},
      Field{"far", 65535, 65535, Unit::count, Role::value, ""},
      Field{"empty", 48, 0, Unit::count, Role::value, ""},
      Field{"", 48, 8, Unit::count, Role::value, ""},
      Field{"newer", 48, 8, static_cast<Unit>(200), static_cast<Role>(9), ""},
      Field{"newer_block", 48, 7, static_cast<Unit>(200), Role::key, ""},
      Field{"odd_histogram", 48, 8, Unit::histogram, Role::value, ""},
  };
  const Bytes payload = encode_schema({5, "odd", 56, fields, "help"});
  const auto owned = OwnedSchema::decode(payload);
  ASSERT_TRUE(owned);
  const auto kept = owned->schema().fields;
  ASSERT_EQ(kept.size(), 4U);
  EXPECT_EQ(kept[0].name, "good");
  EXPECT_EQ(kept[1].unit, Unit::none);
  EXPECT_EQ(kept[1].role, Role::value);
  EXPECT_EQ(kept[2].unit, Unit::opaque);
  EXPECT_EQ(kept[2].role, Role::key);
  EXPECT_EQ(kept[3].unit, Unit::opaque);
}

TEST(TraceFormat, SchemaOfAnImpossibleRecordIsRefused) {
  EXPECT_FALSE(OwnedSchema::decode(encode_schema({5, "small", 47, {}, ""})));
  EXPECT_TRUE(OwnedSchema::decode(encode_schema({5, "least", 48, {}, ""})));
  Bytes payload;
  FieldListWriter list(payload);
  list.number(trace_format::schema_id, 1);
  list.number(trace_format::schema_size, 1ULL << 40);
  EXPECT_FALSE(OwnedSchema::decode(payload));
  EXPECT_FALSE(OwnedSchema::decode({}));
}

}  // namespace
}  // namespace overdue::trace_test
