#include "probes/pairs/usdt_arguments.h"

#include <asm/ptrace.h>

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace overdue {
namespace {

using Kind = UsdtArgument::Kind;

UsdtArgument only(std::string_view text) {
  const auto arguments = parse_usdt_arguments(text);
  EXPECT_EQ(arguments.size(), 1u) << text;
  return arguments.empty() ? UsdtArgument() : arguments[0];
}

TEST(UsdtArguments, EachWayToAnArgument) {
  const UsdtArgument constant = only("-4@$-12");
  EXPECT_EQ(constant.kind, Kind::constant);
  EXPECT_EQ(constant.number, -12);
  const UsdtArgument byte = only("1@%r13b");
  EXPECT_EQ(byte.kind, Kind::in_register);
  EXPECT_EQ(byte.base, offsetof(pt_regs, r13));
  EXPECT_EQ(byte.size, 1u);
  EXPECT_FALSE(byte.is_signed);
  const UsdtArgument place = only("-8@0x10(%rsp)");
  EXPECT_EQ(place.kind, Kind::in_memory);
  EXPECT_EQ(place.base, offsetof(pt_regs, rsp));
  EXPECT_EQ(place.number, 16);
  EXPECT_FALSE(place.index);
  EXPECT_TRUE(place.is_signed);
  const UsdtArgument element = only("4@-8(%rdi,%rax,8)");
  EXPECT_EQ(element.kind, Kind::in_memory);
  EXPECT_EQ(element.index, offsetof(pt_regs, rax));
  EXPECT_EQ(element.scale_bits, 3u);
  EXPECT_EQ(element.number, -8);
  EXPECT_EQ(only("4@(%rdi,%rax)").scale_bits, 0u);
}

TEST(UsdtArguments, WhatCannotBeReadKeepsItsPlaceAmongTheOthers) {
  const auto arguments = parse_usdt_arguments("8@%xmm3 4@%esi 8@table+8(%rip) 16@%rax x@%rax %rax");
  ASSERT_EQ(arguments.size(), 6u);
  for (const unsigned i : {0u, 2u, 3u, 4u, 5u}) EXPECT_EQ(arguments[i].kind, Kind::elsewhere) << i;
  EXPECT_EQ(arguments[1].kind, Kind::in_register);
  for (const char* wrong : {"4@", "@%eax", "4@(%rdi", "4@()", "4@(,%rax,8)", "4@(%rdi,%rax,3)",
                            "4@(%rdi,%rax,16)", "4@(%rdi,%rax,0)", "4@9999999999(%rdi)", "4@$",
                            "4@$x", "8@$99999999999999999999", "8f@%xmm0", "4@%ah"})
    EXPECT_EQ(only(wrong).kind, Kind::elsewhere) << wrong;
  EXPECT_TRUE(parse_usdt_arguments("").empty());
  EXPECT_TRUE(parse_usdt_arguments("  ").empty());
}

TEST(UsdtArguments, AnyTextIsRead) {
  std::mt19937 random(5);
  const std::string letters = "0123456789-@%$(),abdeiprsx ";
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (auto i = random() % 40; i > 0; --i) text += letters[random() % letters.size()];
    for (const UsdtArgument& argument : parse_usdt_arguments(text)) {
      EXPECT_LE(argument.scale_bits, 3u) << text;
      EXPECT_LT(argument.base, sizeof(pt_regs)) << text;
      EXPECT_TRUE(argument.size == 1 || argument.size == 2 || argument.size == 4 ||
                  argument.size == 8)
          << text;
    }
  }
}

}  // namespace
}  // namespace overdue
