#include "core/recorded_stacks.h"

#include <gtest/gtest.h>

#include <cstring>

#include "bpf/sched.h"
#include "bpf/span.h"
#include "core/span_schema.h"

namespace overdue {
namespace {

/// Names each address by its number, and each copy by its size.
class Namer final : public StackNamer {
 public:
  Stack kernel_stack(std::span<const std::uint64_t> addresses) override {
    ++kernel_stacks;
    Stack stack;
    for (const std::uint64_t address : addresses)
      stack.push_back({.address = address,
                       .name = "k" + std::to_string(address) + (stack.empty() ? "" : "r"),
                       .module = "[kernel]",
                       .offset = 7,
                       .is_kernel = true});
    return stack;
  }
  UserStack user_stack(std::uint32_t pid, const user_registers& registers, const UserCopy& copy,
                       KernelTime) override {
    Stack frames{{.name = "inner\\x0a",
                  .module = "/bin/a",
                  .offset = copy.stack.size(),
                  .line = 12,
                  .is_inlined = true},
                 {.address = registers.rip,
                  .module = "/lib/b",
                  .offset = pid,
                  .build_id = "abcdef",
                  .is_guessed = true,
                  .follows_gap = true}};
    return {.frames = frames, .end = "because"};
  }
  int kernel_stacks = 0;
};

/// A span with two kernel frames, registers, and 64 bytes of stack.
std::vector<std::byte> span_bytes(u64 first, u64 second) {
  span_record fixed{};
  fixed.header.time_ns = 5;
  fixed.header.pid = 77;
  fixed.header.kind = RECORD_SPAN;
  fixed.flags = SPAN_HAS_USER_STACK;
  fixed.kernel_frames = 2;
  fixed.user_bytes = 64;
  const u64 kernel[] = {first, second};
  user_registers registers{};
  registers.rip = 0x1000;
  std::vector<std::byte> bytes(sizeof fixed + sizeof kernel + sizeof registers + 64);
  fixed.header.size = static_cast<u16>(bytes.size());
  std::memcpy(bytes.data(), &fixed, sizeof fixed);
  std::memcpy(bytes.data() + sizeof fixed, kernel, sizeof kernel);
  std::memcpy(bytes.data() + sizeof fixed + sizeof kernel, &registers, sizeof registers);
  return bytes;
}

struct Recorded {
  Namer namer;
  std::vector<std::vector<std::byte>> records;
  StackRecorder recorder{namer, [this](const Record& record) {
                           records.emplace_back(record.bytes.begin(), record.bytes.end());
                           EXPECT_EQ(record.header().size, record.bytes.size());
                           EXPECT_EQ(record.header().kind, record.schema->id);
                         }};
  void span(u64 first, u64 second) {
    const auto bytes = span_bytes(first, second);
    recorder.record(Record{&span_schema, bytes});
  }
};

std::span<const std::byte> stack_of(std::span<const std::byte> span) {
  return span.subspan(sizeof(span_record) + 16);
}

TEST(RecordedStacks, GiveBackWhatWasRecorded) {
  Recorded live;
  live.span(100, 200);
  ASSERT_EQ(live.records.size(), 5u);  // two frames of the kernel, two of the user, the span
  RecordedStacks stacks;
  for (std::size_t i = 0; i < 4; ++i) stacks.frame(Record{&frame_schema, live.records[i]});
  const u64 kernel[] = {100, 200};
  EXPECT_EQ(stacks.kernel_stack(kernel), live.namer.kernel_stack(kernel));
  const Record span{&span_schema, live.records[4]};
  EXPECT_TRUE(span.as<span_record>().flags & SPAN_STACK_NAMED);
  EXPECT_EQ(span.as<span_record>().user_bytes, stack_of(span.bytes).size());
  const auto reported = stacks.user_stack(1, {}, stack_of(span.bytes), {});
  user_registers registers{};
  registers.rip = 0x1000;
  const std::vector<std::byte> copy(64);
  const auto was = live.namer.user_stack(77, registers, copy, {});
  EXPECT_EQ(reported.frames, was.frames);
  EXPECT_EQ(reported.end, "because");
}

TEST(RecordedStacks, FramesAreWrittenOnce) {
  Recorded live;
  live.span(100, 200);
  const std::size_t first = live.records.size();
  live.span(100, 200);
  EXPECT_EQ(live.records.size(), first + 1);
  EXPECT_EQ(live.namer.kernel_stacks, 1);
  live.span(200, 100);  // as a return address, an address may belong to another function
  EXPECT_EQ(live.records.size(), first + 4);
}

TEST(RecordedStacks, FramesWithoutANameMayGetOneLater) {
  Recorded live;
  live.span(100, 200);
  int asked = 0;
  RecordedStacks stacks([&](StackFrame frame) {
    ++asked;
    EXPECT_EQ(frame.build_id, "abcdef");
    frame.name = "found";
    return Stack{{.name = "within", .is_inlined = true}, std::move(frame)};
  });
  for (std::size_t i = 0; i < 4; ++i) stacks.frame(Record{&frame_schema, live.records[i]});
  EXPECT_EQ(asked, 1);
  const auto stack = stacks.user_stack(1, {}, stack_of(live.records[4]), {});
  ASSERT_EQ(stack.frames.size(), 3u);
  EXPECT_EQ(stack.frames[1].name, "within");
  EXPECT_EQ(stack.frames[2].name, "found");
}

TEST(RecordedStacks, WhatIsCutIsLeftOut) {
  Recorded live;
  live.span(100, 200);
  for (const auto& record : live.records)
    for (std::size_t length = sizeof(event_header); length < record.size(); ++length) {
      RecordedStacks stacks;
      const auto part = std::span(record).first(length);
      stacks.frame(Record{&frame_schema, part});
      if (length > sizeof(span_record) + 16) {
        const auto stack = stacks.user_stack(1, {}, part.subspan(sizeof(span_record) + 16), {});
        EXPECT_LE(stack.frames.size(), 8192u);
      }
    }
  const u64 unknown[] = {0xffffffff81000000};
  EXPECT_EQ(to_text(RecordedStacks().kernel_stack(unknown)[0]), "[kernel+0xffffffff81000000]");
}

TEST(RecordedStacks, OtherRecordsStayAsTheyAre) {
  Recorded live;
  auto bytes = span_bytes(1, 2);
  span_record fixed{};
  std::memcpy(&fixed, bytes.data(), sizeof fixed);
  fixed.flags = 0;
  fixed.user_bytes = 0;
  fixed.kernel_frames = 0;
  bytes.resize(sizeof fixed);
  fixed.header.size = static_cast<u16>(bytes.size());
  std::memcpy(bytes.data(), &fixed, sizeof fixed);
  live.recorder.record(Record{&span_schema, bytes});
  ASSERT_EQ(live.records.size(), 1u);
  EXPECT_EQ(live.records[0], bytes);
}

}  // namespace
}  // namespace overdue
