#include "resolve/known_frames.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace overdue {
namespace {

constexpr std::uint64_t mappings = 7, rsp = 0x7000'0000;

StackFrame frame(std::uint64_t address, std::string name, frame_rule rule) {
  return {.address = address,
          .name = std::move(name),
          .module = "/bin/program",
          .build_id = "b",
          .rule = rule};
}

constexpr frame_rule caller_16_up{.cfa_offset = 16, .rbp_offset = 0, .caller = 0, .flags = 0};
constexpr frame_rule by_rbp{
    .cfa_offset = 16, .rbp_offset = -16, .caller = 0, .flags = FRAME_CFA_RBP | FRAME_SAVED_RBP};
constexpr frame_rule bottom{.cfa_offset = 0, .rbp_offset = 0, .caller = 0, .flags = FRAME_BOTTOM};

/// A copy of a stack from rsp - USER_RED_ZONE upwards.
class Copy {
 public:
  Copy& put(std::uint64_t address, std::uint64_t word) {
    const std::size_t at = address - (rsp - USER_RED_ZONE);
    if (bytes_.size() < at + 8) bytes_.resize(at + 8);
    std::memcpy(bytes_.data() + at, &word, 8);
    return *this;
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

user_registers registers(std::uint64_t rip, std::uint64_t rbp = 0) {
  user_registers all{};
  all.rip = rip;
  all.rsp = rsp;
  all.rbp = rbp;
  return all;
}

ResolvedStack three_frames() {
  return {.frames = {frame(0x100, "leaf", caller_16_up), frame(0x200, "middle", by_rbp),
                     frame(0x300, "start", bottom)}};
}

/// The stack of three_frames(), with `leaf` at its first instruction.
Copy three_frames_copy() {
  return Copy().put(rsp + 8, 0x200).put(rsp + 0x40, 0).put(rsp + 0x48, 0x300);
}

class KnownFramesTest : public testing::Test {
 protected:
  /// The stack in the copy; without frames if it is unknown.
  ResolvedStack found(const Copy& copy) const {
    return known_.find(mappings, registers_, copy.bytes()).value_or(ResolvedStack{});
  }

  KnownFrames known_{true};
  user_registers registers_ = registers(0x100, rsp + 0x40);
};

TEST_F(KnownFramesTest, AStackOfLearnedFramesIsFoundAgain) {
  const Copy copy = three_frames_copy();
  EXPECT_FALSE(known_.find(mappings, registers_, copy.bytes()));
  known_.learn(mappings, registers_, three_frames());
  EXPECT_EQ(found(copy), three_frames());
}

TEST_F(KnownFramesTest, AnotherImageOrAddressIsUnknown) {
  const Copy copy = three_frames_copy();
  known_.learn(mappings, registers_, three_frames());
  EXPECT_FALSE(known_.find(mappings + 1, registers_, copy.bytes()));
  EXPECT_FALSE(known_.find(mappings, registers(0x101, rsp + 0x40), copy.bytes()));
  // 0x200 is known as a return address, not as an interrupted instruction.
  EXPECT_FALSE(known_.find(mappings, registers(0x200, rsp + 0x40), copy.bytes()));
}

TEST_F(KnownFramesTest, ACopyThatEndsEarlyIsLeftToTheResolver) {
  const Copy whole = three_frames_copy();
  known_.learn(mappings, registers_, three_frames());
  for (std::size_t size = 0; size < whole.bytes().size(); ++size)
    EXPECT_FALSE(known_.find(mappings, registers_, whole.bytes().first(size))) << size;
}

TEST_F(KnownFramesTest, AFramePointerThatLeadsDownOrOutOfTheCopyIsLeftToTheResolver) {
  known_.learn(mappings, registers_, three_frames());
  const Copy copy = three_frames_copy();
  for (const std::uint64_t rbp : {rsp - 0x40, std::uint64_t{0}, ~std::uint64_t{0}, rsp + 0x1000})
    EXPECT_FALSE(known_.find(mappings, registers(0x100, rbp), copy.bytes())) << rbp;
  user_registers low = registers_;
  low.rsp = 8;
  EXPECT_FALSE(known_.find(mappings, low, copy.bytes()));
}

TEST_F(KnownFramesTest, GuessedGeneratedAndSignalFramesAreNotLearned) {
  const Copy copy = three_frames_copy();
  for (bool StackFrame::* const property : {&StackFrame::is_guessed, &StackFrame::is_jit,
                                            &StackFrame::is_signal, &StackFrame::follows_gap}) {
    ResolvedStack stack = three_frames();
    stack.frames[1].*property = true;
    known_.learn(mappings, registers_, stack);
    EXPECT_FALSE(known_.find(mappings, registers_, copy.bytes()));
  }
  ResolvedStack lost = three_frames();
  lost.frames[1].rule.flags = FRAME_LOST;
  known_.learn(mappings, registers_, lost);
  EXPECT_FALSE(known_.find(mappings, registers_, copy.bytes()));
}

TEST_F(KnownFramesTest, AnUnfinishedStackEndsNoOther) {
  ResolvedStack cut = three_frames();
  cut.end = StackEnd::end_of_copy;
  known_.learn(mappings, registers_, cut);
  EXPECT_FALSE(known_.find(mappings, registers_, three_frames_copy().bytes()));
}

TEST_F(KnownFramesTest, AFrameNamedByItsCallHasThatNameForThatCallOnly) {
  ResolvedStack stack = three_frames();
  stack.frames[0].is_named_by_call = true;
  known_.learn(mappings, registers_, stack);
  EXPECT_EQ(found(three_frames_copy()), stack);
  ResolvedStack other = three_frames();
  other.frames[1].address = 0x250;
  known_.learn(mappings, registers(0x110, rsp + 0x40), other);  // 0x250 is known, too
  const Copy called_elsewhere = three_frames_copy().put(rsp + 8, 0x250);
  EXPECT_FALSE(known_.find(mappings, registers_, called_elsewhere.bytes()));
}

TEST_F(KnownFramesTest, InlinedFunctionsStayWithTheirFrame) {
  ResolvedStack stack = three_frames();
  StackFrame inlined = frame(0x200, "inlined", {});
  inlined.is_inlined = true;
  stack.frames.insert(stack.frames.begin() + 1, inlined);
  known_.learn(mappings, registers_, stack);
  EXPECT_EQ(found(three_frames_copy()), stack);
}

TEST_F(KnownFramesTest, FramesWithoutNamesAreCounted) {
  ResolvedStack stack = three_frames();
  stack.frames[1].name.clear();
  stack.unresolved = 1;
  known_.learn(mappings, registers_, stack);
  EXPECT_EQ(found(three_frames_copy()).unresolved, 1u);
}

TEST(KnownFrames, ForgetAllWhenTheyAreTooMany) {
  KnownFrames few(true, 8);
  for (std::uint64_t i = 0; i < 100; ++i) {
    few.learn(i, registers(0x100, rsp + 0x40), three_frames());
    EXPECT_LE(few.size(), 8u);
    EXPECT_TRUE(few.find(i, registers(0x100, rsp + 0x40), three_frames_copy().bytes()));
  }
}

}  // namespace
}  // namespace overdue
