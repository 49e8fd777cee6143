#pragma once

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "syscalls/arguments.h"
#include "syscalls/names.h"
#include "syscalls/signatures.h"

// For tests of decoded arguments: calls to decode.
namespace overdue {

using Values = std::vector<std::uint64_t>;
using Texts = std::vector<std::string>;

constexpr std::uint64_t cwd = static_cast<std::uint32_t>(-100);
constexpr std::uint64_t pointer = 0x7ffc0010;
constexpr std::uint64_t minus_one = ~0ull;

inline syscall_call make_call(std::uint16_t abi, std::uint32_t nr, const Values& values) {
  syscall_call call{};
  call.abi = abi;
  call.nr = nr;
  std::copy(values.begin(), values.end(), call.arguments);
  return call;
}

inline std::string join(std::span<const std::string_view> arguments) {
  return fmt::format("{}", fmt::join(arguments, ", "));
}

/// Decodes a call whose string arguments, by text_argument_mask(), are `texts`.
inline std::string decode(std::string_view name, const Values& values, const Texts& texts = {},
                          std::uint16_t abi = ABI_NATIVE, std::uint8_t truncated = 0) {
  syscall_call call = make_call(abi, syscall_number(abi, name).value(), values);
  std::string bytes;
  for (const std::string& text : texts) bytes += text + '\0';
  if (!texts.empty()) call.text_arguments = text_argument_mask(abi, call.nr);
  call.text_truncated = truncated;
  call.text_size = static_cast<u16>(bytes.size());
  ArgumentDecoder decoder;
  return join(decoder.decode(call, std::as_bytes(std::span(bytes))));
}

/// A call, and the expected text of its arguments.
struct Golden {
  const char* name;
  std::array<std::uint64_t, SYSCALL_ARGUMENTS> values;
  std::array<const char*, SYSCALL_TEXTS> texts;
  const char* expected;
};

inline void expect_decoded(std::span<const Golden> cases) {
  for (const Golden& each : cases) {
    Texts texts;
    for (const char* text : each.texts)
      if (text) texts.emplace_back(text);
    EXPECT_EQ(decode(each.name, {each.values.begin(), each.values.end()}, texts), each.expected);
  }
}

}  // namespace overdue
