#include "symbols/elf_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "symbols/test_support.h"

namespace overdue {
namespace {

using symbols_test::bytes_of;
using symbols_test::fixtures;
using symbols_test::functions_of;

TEST(ElfValues, AreWhereNmSays) {
  constexpr std::array<std::string_view, 4> names = {"main", "local_function", "exported_function",
                                                     "no_such_function"};
  for (const std::string fixture : {"pie", "static", "moved"}) {
    const std::string program = fixtures + "/" + fixture;
    const FileBytes bytes = bytes_of(program);
    const auto image = ElfImage::read(bytes);
    ASSERT_TRUE(image) << fixture;
    const auto values = elf_values(*image, names);
    EXPECT_EQ(values.size(), 3u) << fixture;
    for (const auto& [address, listed] : functions_of(program, "")) {
      if (std::ranges::find(names, listed.name) == names.end()) continue;
      const auto found = values.find(listed.name);
      ASSERT_NE(found, values.end()) << listed.name;
      EXPECT_EQ(found->second.address, address) << listed.name;
      EXPECT_EQ(found->second.size, listed.size) << listed.name;
    }
  }
}

TEST(ElfValues, UndefinedSymbolsHaveNone) {
  constexpr std::array<std::string_view, 1> names = {"getpid"};
  const FileBytes bytes = bytes_of(fixtures + "/pie");
  const auto image = ElfImage::read(bytes);
  ASSERT_TRUE(image);
  EXPECT_TRUE(elf_values(*image, names).empty()) << "it is another file's";
}

}  // namespace
}  // namespace overdue
