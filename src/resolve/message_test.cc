#include "resolve/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace overdue::resolve_message {
namespace {

StackFrame sample_frame() {
  return {.address = 0x1234,
          .name = "f(int)",
          .module = "/lib/x",
          .offset = 7,
          .build_id = "abcd",
          .file = "x.cc",
          .line = 12,
          .is_inlined = true,
          .is_jit = true,
          .is_named_by_call = true,
          .is_guessed = true,
          .follows_gap = true,
          .is_signal = true};
}

/// The stack after encoding and decoding; nothing if a packet is refused.
std::optional<ResolvedStack> round_trip(const ResolvedStack& stack) {
  ResolvedStack whole;
  const auto packets = encode(stack);
  for (std::size_t i = 0; i < packets.size(); ++i) {
    EXPECT_LE(packets[i].size(), max_bytes);
    auto packet = decode_to_parent(packets[i]);
    if (!packet || !std::holds_alternative<Frames>(*packet)) return std::nullopt;
    auto& part = std::get<Frames>(*packet);
    EXPECT_EQ(part.status == Frames::Status::last, i + 1 == packets.size());
    for (auto& frame : part.stack.frames) whole.frames.push_back(frame);
    whole.end = part.stack.end;
    whole.end_module = part.stack.end_module;
    whole.unresolved = part.stack.unresolved;
  }
  return whole;
}

TEST(ResolveMessages, AStack) {
  const ResolvedStack stack{
      .frames = {sample_frame(), {.address = 1, .is_kernel = true}},
      .end = StackEnd::no_cfi,
      .end_module = "/lib/y",
      .unresolved = 1,
  };
  EXPECT_EQ(round_trip(stack), stack);
  EXPECT_EQ(round_trip({}), ResolvedStack());
}

TEST(ResolveMessages, ALongStackTakesMorePackets) {
  ResolvedStack stack;
  stack.frames.assign(500, sample_frame());
  for (auto& frame : stack.frames) frame.name.assign(4096, 'x');
  EXPECT_GT(encode(stack).size(), 10u);
  EXPECT_EQ(round_trip(stack), stack);
}

TEST(ResolveMessages, TextOfTheChildIsMadeFitToPrint) {
  ResolvedStack stack{
      .frames = {{.name = "a\\x1b\x1b[31m\n\xff", .module = std::string(70000, 'm')}}};
  const auto received = round_trip(stack);
  ASSERT_TRUE(received);
  EXPECT_EQ(received->frames[0].name, "a\\x1b\\x1b[31m\\n\\xff");
  EXPECT_EQ(received->frames[0].module, std::string(longest_text, 'm') + "…");
}

TEST(ResolveMessages, MappingsOfAProcess) {
  std::vector<Mapping> mappings;
  const std::string path(500, 'p');
  for (std::uint64_t i = 0; i < 1000; ++i)
    mappings.push_back({.start = i << 12,
                        .end = (i + 1) << 12,
                        .file_offset = i,
                        .device_major = 1,
                        .device_minor = 2,
                        .inode = 3,
                        .is_executable = true,
                        .is_deleted = i % 2 == 0,
                        .path = path});
  std::size_t count = 0;
  const auto packets = encode_space(42, 43, mappings);
  for (const auto& packet : packets) {
    EXPECT_LE(packet.size(), max_bytes);
    const auto message = decode_to_child(packet);
    ASSERT_TRUE(message && std::holds_alternative<Space>(*message));
    const auto& space = std::get<Space>(*message);
    EXPECT_EQ(space.id, 42u);
    EXPECT_EQ(space.pid, 43u);
    EXPECT_EQ(space.is_last, &packet == &packets.back());
    for (const Mapping& mapping : space.mappings) {
      EXPECT_EQ(mapping.file_offset, count);
      EXPECT_EQ(mapping.is_deleted, count % 2 == 0);
      EXPECT_EQ(mapping.path, path);
      ++count;
    }
  }
  EXPECT_EQ(count, mappings.size());
  EXPECT_EQ(encode_space(1, 1, {}).size(), 1u);
}

TEST(ResolveMessages, RequestsAndFiles) {
  user_registers registers{};
  registers.rip = 77;
  const std::vector<std::byte> copy(20000, std::byte{9});
  auto packet = encode(UserStack{.space = 5, .registers = registers, .copy = copy});
  const auto user = decode_to_child(packet);
  ASSERT_TRUE(user);
  EXPECT_EQ(std::get<UserStack>(*user).registers.rip, 77u);
  EXPECT_THAT(std::get<UserStack>(*user).copy.stack, testing::ElementsAreArray(copy));
  packet = encode(RecordedStack{.space = 5, .addresses = {1, 2, 3}});
  EXPECT_THAT(std::get<RecordedStack>(*decode_to_child(packet)).addresses,
              testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(std::get<File>(*decode_to_child(encode(File{.is_there = true, .owner = 8}))).owner, 8u);
  const auto wanted = decode_to_parent(
      encode(Wanted{.what = Wanted::What::debug_file, .mapping = 4, .path = "/usr/lib/debug/x"}));
  EXPECT_EQ(std::get<Wanted>(*wanted).path, "/usr/lib/debug/x");
}

TEST(ResolveMessages, APacketWithAnythingWrongIsNothing) {
  const auto packets = {encode(ResolvedStack{.frames = {sample_frame()}})[0],
                        encode(Wanted{.path = "/x"}),
                        encode(File{}),
                        encode(Probe{}),
                        encode(RecordedStack{.addresses = {1}}),
                        encode(Space{.mappings = {Mapping{.start = 1, .end = 2, .path = "/x"}}})};
  for (const auto& packet : packets) {
    EXPECT_EQ(decode_to_child(packet).has_value() + decode_to_parent(packet).has_value(), 1);
    auto longer = packet;
    longer.push_back(std::byte{1});
    EXPECT_FALSE(decode_to_child(longer) || decode_to_parent(longer));
  }
  for (const auto& packet : packets)  // cut anywhere but between elements
    for (std::size_t size = 0; size < std::min<std::size_t>(packet.size(), 5); ++size)
      EXPECT_FALSE(decode_to_child(std::span(packet).first(size)) ||
                   decode_to_parent(std::span(packet).first(size)));
  auto status = encode(ResolvedStack())[0];
  status[1] = std::byte{9};
  EXPECT_FALSE(decode_to_parent(status));
  auto end = encode(ResolvedStack())[0];
  end[2] = std::byte{99};
  EXPECT_FALSE(decode_to_parent(end));
}

}  // namespace
}  // namespace overdue::resolve_message
