// Checks the promises of every probe, so that a new probe is tested before its author has written a
// test.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/probe.h"
#include "kernel/features.h"
#include "probes/spans.h"

namespace overdue {
namespace {

bool is_snake_case(std::string_view name) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz";
  return !name.empty() && letters.find(name.front()) != letters.npos && name.back() != '_' &&
         name.find("__") == name.npos &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == name.npos;
}

/// A sentence for people: not empty, on one line, without a full stop at the end.
void expect_help(std::string_view text, std::string_view of) {
  EXPECT_FALSE(text.empty()) << of;
  if (text.empty()) return;
  EXPECT_EQ(text.find('\n'), text.npos) << of;
  EXPECT_NE(text.back(), '.') << of;
  EXPECT_NE(text.back(), ' ') << of;
}

TEST(Contract, EveryProbeHasANameASummaryAManualAndSchemas) {
  std::set<std::string_view> names;
  ASSERT_FALSE(all_probes().empty());
  for (const ProbeInfo* probe : all_probes()) {
    EXPECT_TRUE(is_snake_case(probe->name)) << probe->name;
    EXPECT_TRUE(names.insert(probe->name).second) << "twice: " << probe->name;
    expect_help(probe->summary, probe->name);
    EXPECT_GT(probe->manual.size(), 200u) << probe->name;
    EXPECT_EQ(probe->manual.front(), '#') << probe->name << ": a manual begins with its title";
    EXPECT_FALSE(probe->schemas.empty()) << probe->name;
    ASSERT_NE(probe->support, nullptr) << probe->name;
  }
}

TEST(Contract, EverySupportThatIsNoSaysWhyAndWhatWouldChangeIt) {
  const Kernel kernel;
  for (const ProbeInfo* probe : all_probes()) {
    const Support support = probe->support(kernel);
    if (support.yes) continue;
    EXPECT_FALSE(support.missing.empty()) << probe->name;
    EXPECT_FALSE(support.remedy.empty()) << probe->name;
  }
}

TEST(Contract, EverySchemaHasItsOwnIdAndName) {
  std::set<u16> ids;
  std::set<std::string_view> names;
  for (const Schema* schema : all_schemas()) {
    EXPECT_NE(schema->id, 0) << schema->name;
    EXPECT_TRUE(ids.insert(schema->id).second) << "id twice: " << schema->id;
    EXPECT_TRUE(names.insert(schema->name).second) << "name twice: " << schema->name;
    EXPECT_TRUE(is_snake_case(schema->name)) << schema->name;
    EXPECT_EQ(find_schema(schema->id), schema);
    EXPECT_EQ(schema->size % 8, 0) << schema->name << ": records lie one behind the other";
    expect_help(schema->help, schema->name);
  }
  EXPECT_EQ(find_schema(0), nullptr);
  EXPECT_EQ(find_schema(UINT16_MAX), nullptr);
}

TEST(Contract, FieldsLieBehindTheHeaderInsideTheRecordAndApart) {
  for (const Schema* schema : all_schemas()) {
    std::vector<const Field*> owner(schema->size, nullptr);
    for (const Field& field : schema->fields) {
      SCOPED_TRACE(fmt::format("{}.{}", schema->name, field.name));
      EXPECT_GT(field.size, 0);
      EXPECT_GE(field.offset, sizeof(event_header));
      ASSERT_LE(field.offset + field.size, schema->size);
      for (std::size_t at = field.offset; at < std::size_t{field.offset} + field.size; ++at) {
        EXPECT_EQ(owner[at], nullptr) << "shares bytes with " << owner[at]->name;
        owner[at] = &field;
      }
    }
  }
}

std::set<std::size_t> sizes_of(Unit unit) {
  switch (unit) {
    case Unit::nanoseconds:
    case Unit::cgroup:
    case Unit::result:
      return {8};
    case Unit::pid:
    case Unit::tid:
    case Unit::cpu:
    case Unit::syscall:
      return {4};
    case Unit::abi:
      return {2};
    case Unit::none:
    case Unit::count:
    case Unit::bytes:
      return {1, 2, 4, 8};
    case Unit::histogram:
      return {sizeof(latency_histogram)};
    case Unit::text:
    case Unit::opaque:
      return {};
  }
  return {};
}

TEST(Contract, FieldsAreNamedForTheirUnitAndExplained) {
  for (const Schema* schema : all_schemas()) {
    std::set<std::string_view> names{"time_ns", "cgroup_id", "pid", "tid",
                                     "kind",    "size",      "cpu", "comm"};
    for (const Field& field : schema->fields) {
      SCOPED_TRACE(fmt::format("{}.{}", schema->name, field.name));
      EXPECT_TRUE(is_snake_case(field.name));
      EXPECT_TRUE(names.insert(field.name).second) << "twice, or the name of a header field";
      EXPECT_EQ(field.name.ends_with("_ns"), field.unit == Unit::nanoseconds);
      EXPECT_EQ(field.name.ends_with("_bytes") || field.name.ends_with("_size"),
                field.unit == Unit::bytes);
      const std::set<std::size_t> sizes = sizes_of(field.unit);
      EXPECT_TRUE(sizes.empty() || sizes.contains(field.size)) << field.size << " bytes";
      if (field.role == Role::duration) {
        EXPECT_TRUE(field.unit == Unit::nanoseconds || field.unit == Unit::histogram);
      }
      expect_help(field.help, field.name);
    }
  }
}

/// Takes all fields: a visit of arbitrary bytes must not read beyond them.
class Nowhere final : public FieldVisitor {
 public:
  void number(std::string_view name, std::uint64_t, Unit) override { see(name); }
  void result(std::string_view name, std::int64_t, std::string_view) override { see(name); }
  void text(std::string_view name, std::string_view value) override {
    see(name);
    bytes += value.size();
  }
  void list(std::string_view name, std::span<const std::string_view>) override { see(name); }
  std::set<std::string> names;
  std::size_t bytes = 0;

 private:
  void see(std::string_view name) { names.emplace(name); }
};

TEST(Contract, EveryRecordCanBeVisitedCutShortOrFilledWithAnything) {
  for (const Schema* schema : all_schemas()) {
    for (const int fill : {0x00, 0x01, 0x7f, 0xff}) {
      for (const std::size_t size : {std::size_t{schema->size}, std::size_t{schema->size} + 512,
                                     sizeof(event_header), std::size_t{schema->size} / 2}) {
        // The block has the exact size, so that a sanitizer sees a read beyond it.
        const std::vector<std::byte> bytes(size, static_cast<std::byte>(fill));
        Nowhere visitor;
        visit_record(Record{schema, bytes}, {}, visitor);
        EXPECT_TRUE(visitor.names.contains("tid")) << schema->name;
        for (const std::string& name : visitor.names) EXPECT_TRUE(is_snake_case(name)) << name;
      }
    }
  }
}

}  // namespace
}  // namespace overdue
