#include "symbols/kernel_symbols.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/error.h"

namespace overdue {
namespace {

constexpr std::string_view kallsyms_text =
    "ffffffff81000000 T _text\n"
    "ffffffff81000000 T startup\n"
    "ffffffff81000040 t __schedule\n"
    "ffffffff81000040 T __sched_text_start\n"
    "ffffffff81000080 T __sched_text_end\n"
    "ffffffff81000100 t local_work\n"
    "ffffffff81000200 T _etext\n"
    "ffffffff81000280 D some_data\n"
    "ffffffffc0001000 t work\t[ext4]\n"
    "ffffffffc0001080 T ext4_work\t[ext4]\n"
    "ffffffffc0002000 t work\t[bpf]\n"
    "ffffffffc0003000 t ext4_more\t[ext4]\n";

std::string at(const KernelSymbols& symbols, std::uint64_t address) {
  const auto found = symbols.find(address);
  if (!found) return "";
  return std::string(found->symbol.name) + "+" + std::to_string(found->symbol.offset) + "[" +
         std::string(found->module) + "]";
}

TEST(KernelSymbols, FindsFunctionsAndTheirModules) {
  const auto symbols = KernelSymbols::parse(kallsyms_text);
  EXPECT_EQ(at(symbols, 0xffffffff81000010), "startup+16[]");
  EXPECT_EQ(at(symbols, 0xffffffff81000041), "__schedule+1[]");
  EXPECT_EQ(at(symbols, 0xffffffff810001ff), "local_work+255[]");
  EXPECT_EQ(at(symbols, 0xffffffffc0001000), "work+0[ext4]");
  EXPECT_EQ(at(symbols, 0xffffffffc0001081), "ext4_work+1[ext4]");
  EXPECT_EQ(at(symbols, 0xffffffffc0002001), "work+1[bpf]");
  EXPECT_EQ(at(symbols, 0xffffffffc0003001), "ext4_more+1[ext4]");
  EXPECT_EQ(symbols.malformed_lines(), 0u);
  EXPECT_FALSE(symbols.are_addresses_hidden());
}

TEST(KernelSymbols, NamesNothingOutsideOfText) {
  const auto symbols = KernelSymbols::parse(kallsyms_text);
  EXPECT_EQ(at(symbols, 0), "");
  EXPECT_EQ(at(symbols, 0xffffffff80ffffff), "");
  EXPECT_EQ(at(symbols, 0xffffffff81000200), "");  // after _etext
  EXPECT_EQ(at(symbols, 0xffffffff81000080), "");
  EXPECT_EQ(at(symbols, 0xffffffff81000290), "");
  EXPECT_EQ(at(symbols, 0xffffffffc0003000 + (256 << 10)),
            "");  // the end of the last function is unknown
  EXPECT_EQ(at(symbols, ~std::uint64_t{0}), "");
}

TEST(KernelSymbols, SaysThatAddressesAreHidden) {
  const auto symbols =
      KernelSymbols::parse("0000000000000000 T _text\n0000000000000000 t work\t[ext4]\n");
  EXPECT_TRUE(symbols.are_addresses_hidden());
  EXPECT_EQ(at(symbols, 0), "");
  EXPECT_EQ(at(symbols, 0xffffffff81000010), "");
  EXPECT_FALSE(KernelSymbols::parse("").are_addresses_hidden());
}

TEST(KernelSymbols, CountsLinesWithoutSense) {
  const auto symbols =
      KernelSymbols::parse("zzz T a\n10 T\n\n10\n10 TT b\n100000000000000000000 T c\n1000 T good");
  EXPECT_EQ(symbols.malformed_lines(), 5u);
  EXPECT_EQ(at(symbols, 0x1000), "good+0[]");
}

TEST(KernelSymbols, OfThisKernel) {
  // A copy, since BPF programs come and go.
  const std::string copy = testing::TempDir() + "/overdue-kallsyms-" + std::to_string(getpid());
  std::ofstream(copy) << std::ifstream("/proc/kallsyms").rdbuf();
  const auto symbols = KernelSymbols::read(copy);
  if (symbols.are_addresses_hidden()) GTEST_SKIP() << "kallsyms hides its addresses";
  EXPECT_EQ(symbols.malformed_lines(), 0u);
  std::map<std::uint64_t, std::set<std::string>> names;
  std::ifstream file(copy);
  for (std::string line; std::getline(file, line);) {
    char digits[32], kind[8], word[512];
    if (sscanf(line.c_str(), "%31s %7s %511s", digits, kind, word) != 3) continue;
    if (std::string_view("tTwW").find(kind[0]) == std::string_view::npos) continue;
    names[std::stoull(digits, nullptr, 16)].insert(word);
  }
  std::filesystem::remove(copy);
  std::size_t wrong = 0;
  for (const auto& [begin, aliases] : names) {
    const auto is_mark = [](const std::string& alias) {
      return alias == "_etext" || alias == "_einittext" || alias.ends_with("_text_start") ||
             alias.ends_with("_text_end");
    };
    if (begin == 0 || std::all_of(aliases.begin(), aliases.end(), is_mark)) continue;
    const auto found = symbols.find(begin);
    if (found && found->symbol.offset == 0 && aliases.contains(std::string(found->symbol.name)))
      continue;
    if (++wrong < 5)
      ADD_FAILURE() << std::hex << begin << " " << *aliases.begin() << ": " << at(symbols, begin);
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(names.size(), 10'000u);
  // 20 bytes a symbol and its name.
  EXPECT_LT(symbols.memory_bytes(), names.size() * 60);
}

TEST(KernelSymbols, ThrowsWithoutAFile) {
  EXPECT_THROW(KernelSymbols::read("/nonexistent"), Error);
}

}  // namespace
}  // namespace overdue
