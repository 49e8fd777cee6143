#include "core/span_schema.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <vector>

#include "core/record.h"

namespace overdue {
namespace {

/// A visitor that notes its fields as text.
class Noted final : public FieldVisitor {
 public:
  void number(std::string_view name, std::uint64_t value, Unit) override {
    values[std::string(name)] = std::to_string(value);
  }
  void result(std::string_view, std::int64_t, std::string_view) override {}
  void text(std::string_view name, std::string_view value) override {
    values[std::string(name)] = value;
  }
  void list(std::string_view name, std::span<const std::string_view> list) override {
    std::string& all = values[std::string(name)];
    for (const std::string_view value : list) all += std::string(value) + ";";
  }
  std::map<std::string, std::string> values;
};

span_record make(span_kind kind, std::string_view text = {}) {
  span_record span{};
  span.header.kind = RECORD_SPAN;
  span.header.size = sizeof span;
  span.span = static_cast<u16>(kind);
  text.copy(span.text, sizeof span.text);
  return span;
}

std::map<std::string, std::string> visited(const span_record& span, std::vector<u64> frames = {},
                                           std::size_t missing_bytes = 0) {
  std::vector<std::byte> bytes(sizeof span + frames.size() * sizeof(u64));
  std::memcpy(bytes.data(), &span, sizeof span);
  if (!frames.empty())
    std::memcpy(bytes.data() + sizeof span, frames.data(), frames.size() * sizeof(u64));
  bytes.resize(bytes.size() - missing_bytes);
  Noted noted;
  visit_record(Record{&span_schema, bytes}, {}, noted);
  return noted.values;
}

constexpr u64 family_ipv4 = 2, family_ipv6 = 10;

TEST(SpanSchema, EveryKindHasANameOfItsOwn) {
  std::map<std::string_view, int> names;
  for (std::uint16_t kind = SPAN_SYSCALL; kind < SPAN_COUNT; ++kind) ++names[span_name(kind)];
  EXPECT_EQ(names.size(), std::size_t{SPAN_COUNT} - 1);
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_EQ(span_name(SPAN_NONE), "unknown");
  for (std::uint16_t kind = SPAN_SYSCALL; kind < SPAN_COUNT; ++kind)
    EXPECT_EQ(known_span_kind(kind), kind);
  EXPECT_EQ(known_span_kind(SPAN_COUNT), SPAN_NONE);
  EXPECT_EQ(known_span_kind(58339), SPAN_NONE);  // of a damaged file
  EXPECT_EQ(span_name(SPAN_COUNT), "unknown");
}

TEST(SpanSchema, NamesTheEndsOfAConnection) {
  span_record span = make(SPAN_TCP_CONNECT);
  span.subject = u64{0xc0000202} << 32 | 0x7f000001;
  span.detail = u64{ECONNREFUSED} << 48 | family_ipv4 << 32 | 40'000u << 16 | 80;
  EXPECT_EQ(span_subject(span), "127.0.0.1:80");
  EXPECT_EQ(visited(span).at("local"), "192.0.2.2:40000");
  EXPECT_EQ(visited(span).at("errno"), std::to_string(ECONNREFUSED));
}

TEST(SpanSchema, NamesTheEndsOfAConnectionOverIPv6) {
  span_record span = make(SPAN_TCP_CONNECT, "20010db8000000000000000000000001");
  span.detail = family_ipv6 << 32 | 65'535u << 16 | 443;
  EXPECT_EQ(span_subject(span), "[2001:db8::1]:443");
  EXPECT_EQ(visited(span).at("local"), ":65535");
  EXPECT_FALSE(visited(span).contains("errno"));
  std::memset(span.text, 'x', sizeof span.text);  // any bytes, from a file
  EXPECT_EQ(span_subject(span), "[]:443");
}

TEST(SpanSchema, WhatHasNoNameIsCalledByItsNumber) {
  span_record vector = make(SPAN_VECTOR);
  vector.subject = 236;
  EXPECT_EQ(span_subject(vector), "236");
  span_record softirq = make(SPAN_SOFTIRQ);
  softirq.subject = 3;
  EXPECT_EQ(span_subject(softirq), "NET_RX");
  softirq.subject = 10;
  EXPECT_EQ(span_subject(softirq), "10");
  EXPECT_EQ(span_subject(make(SPAN_TIMER)), "");
}

TEST(SpanSchema, VisitsWhatThereIsAndNothingElse) {
  span_record span = make(SPAN_BLOCK, "vda");
  span.latency_ns = 12'345;
  span.detail = 4'096;
  EXPECT_EQ(visited(span).at("span"), "block");
  EXPECT_EQ(visited(span).at("name"), "vda");
  EXPECT_EQ(visited(span).at("latency_ns"), "12345");
  EXPECT_EQ(visited(span).at("detail"), "4096");
  for (const char* absent : {"begin_tid", "is", "oncpu_ns", "kernel_stack", "local"})
    EXPECT_FALSE(visited(span).contains(absent)) << absent;
  span.begin_pid = 7;
  span.begin_tid = 8;
  span.flags = SPAN_HAS_LEDGER | SPAN_FAILED | SPAN_WRITE;
  span.ledger.oncpu_ns = 99;
  span.kernel_frames = 2;
  const auto values = visited(span, {0xffffffff81000000, 0xffffffff81000010});
  EXPECT_EQ(values.at("begin_tid"), "8");
  EXPECT_EQ(values.at("is"), "failed;write;");
  EXPECT_EQ(values.at("oncpu_ns"), "99");
  EXPECT_EQ(values.at("kernel_stack"), "0xffffffff81000000;0xffffffff81000010;");
}

TEST(SpanSchema, AStackThatIsCutShowsWhatIsThere) {
  span_record span = make(SPAN_LOCK, "mutex");
  span.kernel_frames = 500;
  EXPECT_EQ(visited(span, {1, 2, 3}, 4).at("kernel_stack"), "0x1;0x2;");
  EXPECT_FALSE(visited(span).contains("kernel_stack"));
}

}  // namespace
}  // namespace overdue
