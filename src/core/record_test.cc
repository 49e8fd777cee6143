#include "core/record.h"

#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/histogram.h"

namespace overdue {
namespace {

struct test_event {
  struct event_header header;
  u64 wait_ns;
  s32 ret;
  u32 peer_pid;
  char name[8];
  u8 cause;
  u8 secret[7];
  u64 arguments[2];
};
WIRE_SIZE(struct test_event, 48 + 48);

constexpr Field test_fields[] = {
    OVERDUE_FIELD(test_event, wait_ns, nanoseconds, duration, "time waited"),
    OVERDUE_FIELD(test_event, ret, result, value, "what it returned"),
    OVERDUE_FIELD(test_event, peer_pid, pid, key, "the other one"),
    OVERDUE_FIELD(test_event, name, text, key, "its name"),
    OVERDUE_FIELD(test_event, cause, none, value, "why"),
    OVERDUE_FIELD(test_event, secret, opaque, value, "for the probe only"),
    OVERDUE_FIELD(test_event, arguments, none, value, "what was passed"),
};
constexpr Schema test_schema{99, "test", sizeof(test_event), test_fields, "a test"};

/// Writes the visited fields as text.
class Transcript : public FieldVisitor {
 public:
  void number(std::string_view name, std::uint64_t value, Unit unit) override {
    text_ += fmt::format("{}={}:{} ", name, value, static_cast<int>(unit));
  }
  void result(std::string_view name, std::int64_t value, std::string_view error) override {
    text_ += fmt::format("{}={:+}:{} ", name, value, error);
  }
  void text(std::string_view name, std::string_view value) override {
    text_ += fmt::format("{}='{}' ", name, value);
  }
  void list(std::string_view name, std::span<const std::string_view> values) override {
    text_ += fmt::format("{}=[", name);
    for (const std::string_view value : values) text_ += fmt::format("{};", value);
    text_ += "] ";
  }
  const std::string& written() const { return text_; }

 private:
  std::string text_;
};

test_event sample() {
  test_event event{};
  event.header = {.time_ns = 5,
                  .cgroup_id = 0,
                  .pid = 10,
                  .tid = 11,
                  .kind = 99,
                  .size = sizeof event,
                  .cpu = 1,
                  .comm = "worker"};
  event.wait_ns = 1234;
  event.ret = -2;
  event.peer_pid = 77;
  std::memcpy(event.name, "12345678", 8);  // fills the array: no NUL
  event.cause = 3;
  event.arguments[0] = 1;
  event.arguments[1] = UINT64_MAX;
  return event;
}

std::string transcript(const test_event& event, std::size_t size = sizeof(test_event),
                       const Schema& schema = test_schema) {
  Transcript seen;
  const Record record{&schema, std::as_bytes(std::span(&event, 1)).first(size)};
  visit_record(record, Names{}, seen);
  return seen.written();
}

constexpr std::string_view header_text = "time_ns=5:2 pid=10:4 tid=11:5 comm='worker' cpu=1:6 ";

TEST(VisitRecord, ShowsHeaderThenFieldsByUnit) {
  EXPECT_EQ(transcript(sample()),
            std::string(header_text) +
                "wait_ns=1234:2 ret=-2: peer_pid=77:4 name='12345678' cause=3:0 "
                "arguments=[1;18446744073709551615;] ");
}

TEST(VisitRecord, ShowsTheCgroupWhereThereIsOne) {
  test_event event = sample();
  event.header.cgroup_id = 4242;
  EXPECT_NE(transcript(event).find("cpu=1:6 cgroup_id=4242:7 wait_ns"), std::string::npos);
}

TEST(VisitRecord, TakesZeroForWhatAnOlderVersionDidNotWrite) {
  EXPECT_EQ(transcript(sample(), offsetof(test_event, peer_pid)),
            std::string(header_text) +
                "wait_ns=1234:2 ret=-2: peer_pid=0:4 name='' cause=0:0 arguments=[0;0;] ");
  EXPECT_EQ(transcript(sample(), sizeof(event_header) + 1).find("wait_ns=210:2"),
            header_text.size());
}

TEST(VisitRecord, NeverLeavesTheRecordWhateverTheSchemaSays) {
  constexpr Field hostile[] = {
      {"beyond", 65535, 8, Unit::count, Role::value, ""},
      {"across", sizeof(test_event) - 1, 500, Unit::text, Role::value, ""},
      {"empty", 0, 0, Unit::result, Role::value, ""},
      {"nothing", 65535, 0, Unit::text, Role::value, ""},
      {"huge", sizeof(test_event) - 8, 24, Unit::none, Role::value, ""},
      {"future", 60, 4, static_cast<Unit>(200), Role::value, ""},
      {"shape", 65000, 65535, Unit::histogram, Role::value, ""},
  };
  const Schema schema{99, "test", sizeof(test_event), hostile, ""};
  EXPECT_EQ(transcript(sample(), sizeof(test_event), schema),
            std::string(header_text) +
                "beyond=0:1 across='\xff' empty=+0: nothing='' "
                "huge=[18446744073709551615;0;0;] future=77:200 count=0:1 total_ns=0:2 min_ns=0:2 "
                "max_ns=0:2 shape=[] ");
}

TEST(VisitRecord, AsksTheSchemaWhereItHasItsOwnWords) {
  Schema schema = test_schema;
  schema.visit = [](const Record& record, const Names&, FieldVisitor& visitor) {
    visitor.text("said", fmt::format("{} ns", record.as<test_event>().wait_ns));
  };
  EXPECT_EQ(transcript(sample(), sizeof(test_event), schema),
            std::string(header_text) + "said='1234 ns' ");
}

TEST(VisitRecord, UnfoldsHistograms) {
  struct histogram_event {
    event_header header;
    latency_histogram latency;
  } event{};
  event.latency.count = 3;
  event.latency.total_ns = 150;
  event.latency.min_ns = 15;
  event.latency.max_ns = 100;
  event.latency.buckets[15] = 1;
  event.latency.buckets[histogram_bucket(100)] = 2;
  const Field fields[] = {OVERDUE_FIELD(histogram_event, latency, histogram, duration, "how long")};
  const Schema schema{98, "cell", sizeof event, fields, ""};
  Transcript seen;
  visit_record({&schema, std::as_bytes(std::span(&event, 1))}, Names{}, seen);
  EXPECT_NE(seen.written().find("count=3:1 total_ns=150:2 min_ns=15:2 max_ns=100:2 "
                                "latency=[15-16:1;100-104:2;] "),
            std::string::npos)
      << seen.written();
}

TEST(Record, OfNoBytesIsAllZeros) {
  const Record record{&test_schema, {}};
  EXPECT_EQ(record.header().size, 0);
  EXPECT_EQ(record.as<test_event>().wait_ns, 0u);
  EXPECT_EQ(record.at<u64>(0), 0u);
}

}  // namespace
}  // namespace overdue
