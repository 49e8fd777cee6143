#include "syscalls/arguments.h"

#include "syscalls/arguments_fixture.h"

namespace overdue {
namespace {

TEST(Arguments, OfUnknownCallsAreRegisters) {
  ArgumentDecoder decoder;
  EXPECT_EQ(join(decoder.decode(make_call(ABI_NATIVE, 999, {1, 0xff, 0, 4, 5, minus_one}), {})),
            "arg0=0x1, arg1=0xff, arg2=0, arg3=0x4, arg4=0x5, arg5=0xffffffffffffffff");
  EXPECT_EQ(decoder.decode(make_call(9, 0, {}), {}).size(), 6u);
}

TEST(Arguments, TextIsQuotedAndEscaped) {
  EXPECT_EQ(decode("unlink", {1}, {"a\"b\\c\n\x1b[2J"}), R"(pathname="a\"b\\c\n\x1b[2J")");
  EXPECT_EQ(decode("unlink", {1}, {"naïve"}), "pathname=\"naïve\"");
  EXPECT_EQ(decode("unlink", {1}, {"\xff\xc3"}), R"(pathname="\xff\xc3")");
  EXPECT_EQ(decode("unlink", {1}, {"/long"}, ABI_NATIVE, 1), "pathname=\"/long\"…");
  EXPECT_EQ(decode("rename", {1, 2}, {"a", "b"}, ABI_NATIVE, 2), "oldpath=\"a\", newpath=\"b\"…");
}

TEST(Arguments, TextThatWasNotReadIsAPointer) {
  EXPECT_EQ(decode("unlink", {0x10}), "pathname=0x10");
  EXPECT_EQ(decode("unlink", {0}), "pathname=NULL");
  syscall_call call =
      make_call(ABI_NATIVE, 82, {0x10, 0x20});  // rename, of which only the second could be read
  call.text_arguments = 2;
  call.text_size = 2;
  const std::string bytes("b", 2);
  ArgumentDecoder decoder;
  EXPECT_EQ(join(decoder.decode(call, std::as_bytes(std::span(bytes)))),
            "oldpath=0x10, newpath=\"b\"");
}

TEST(Arguments, HostileTextStaysInBounds) {
  ArgumentDecoder decoder;
  syscall_call call = make_call(ABI_NATIVE, 82, {1, 2});
  call.text_arguments = 0xff;
  call.text_size = 65535;
  EXPECT_EQ(join(decoder.decode(call, {})), "oldpath=0x1, newpath=0x2") << "no bytes at all";
  // On the heap and exactly as long as the text, so that the sanitizer sees a read beyond its end.
  const std::vector<char> unterminated = {'a', 'b'};
  EXPECT_EQ(join(decoder.decode(call, std::as_bytes(std::span(unterminated)))),
            "oldpath=\"ab\"…, newpath=0x2");
  const std::vector<char> one = {'a', '\0'};
  EXPECT_EQ(join(decoder.decode(call, std::as_bytes(std::span(one)))),
            "oldpath=\"a\", newpath=0x2");
  call.text_size = 1;
  EXPECT_EQ(join(decoder.decode(call, std::as_bytes(std::span(one)))),
            "oldpath=\"a\"…, newpath=0x2");
  call.text_size = 65535;
  const std::vector<char> zeros(65535, '\0');
  EXPECT_EQ(join(decoder.decode(call, std::as_bytes(std::span(zeros)))),
            "oldpath=\"\", newpath=\"\"");
  const std::vector<char> noise(65535, '\x1b');
  EXPECT_EQ(decoder.decode(call, std::as_bytes(std::span(noise))).size(), 2u);
  call.nr = 0;  // read has no string, whatever the record says: a string is still shown as one
  EXPECT_EQ(join(decoder.decode(call, std::as_bytes(std::span(one)))),
            "fd=\"a\", buf=0x2, count=0");
}

TEST(Arguments, EveryCallDecodesAnyRegisters) {
  ArgumentDecoder decoder;
  for (std::uint16_t abi = 0; abi <= ABI_COUNT; ++abi)
    for (std::uint32_t nr = 0; nr < 1100; ++nr)
      for (const std::uint64_t bits : Values{0, minus_one, 1ull << 63, 0x8000000080000000ull,
                                             0x7fffffff7fffffffull, 0x5555555555555555ull}) {
        const auto call = make_call(abi, nr, Values(SYSCALL_ARGUMENTS, bits));
        for (const std::string_view argument : decoder.decode(call, {})) {
          const auto equals = argument.find('=');
          ASSERT_NE(equals, std::string_view::npos) << abi << " " << nr;
          EXPECT_GT(argument.size(), equals + 1) << abi << " " << nr << " " << argument;
          EXPECT_GT(equals, 0u) << abi << " " << nr;
        }
      }
}

TEST(Arguments, ViewsHoldUntilTheNextCall) {
  ArgumentDecoder decoder;
  const std::string text = std::string(255, 'x') + '\0' + std::string(255, 'y') + '\0';
  syscall_call call = make_call(ABI_NATIVE, 82, {1, 2});
  call.text_arguments = 3;
  call.text_size = 512;
  const auto views = decoder.decode(call, std::as_bytes(std::span(text)));
  ASSERT_EQ(views.size(), 2u);
  EXPECT_EQ(views[0], "oldpath=\"" + std::string(255, 'x') + "\"");
  EXPECT_EQ(views[1], "newpath=\"" + std::string(255, 'y') + "\"");
}

}  // namespace
}  // namespace overdue
