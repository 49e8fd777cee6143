#include "symbols/demangle.h"

#include <gtest/gtest.h>

namespace overdue {
namespace {

TEST(Demangle, Cxx) {
  EXPECT_EQ(demangle("_ZN7fixture10overloadedEi"), "fixture::overloaded");
  EXPECT_EQ(demangle("_ZNSt6vectorIiSaIiEE9push_backEOi"),
            "std::vector<int, std::allocator<int> >::push_back");
  EXPECT_EQ(demangle("_ZNK7fixture3BoxIlE5twiceEl"), "fixture::Box<long>::twice");
  EXPECT_EQ(demangle("_ZplRK1aS1_"), "operator+");
}

TEST(Demangle, ClonesOfTheOptimiser) {
  EXPECT_EQ(demangle("_ZN1a1bEv.constprop.0"), "a::b");
  EXPECT_EQ(demangle("_ZN1a1bEv.llvm.123456789"), "a::b");
}

TEST(Demangle, Rust) {
  EXPECT_EQ(demangle("_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
  EXPECT_EQ(demangle("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
                     "3bar17h930b740aa94f1d3aE"),
            "<Test + 'static as foo::Bar<Test>>::bar");
  EXPECT_EQ(demangle("_RNvCskwGfYPst2Cb_3foo16example_function"), "foo::example_function");
  EXPECT_EQ(demangle("_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate"),
            "<std::path::PathBuf>::new");
  EXPECT_EQ(demangle("_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y"),
            "utf8_idents::საჭმელად_გემრიელი_სადილი");
}

// Found by fuzzing: libiberty writes no bytes, from a null pointer.
TEST(Demangle, UnicodeWithoutAscii) {
  EXPECT_FALSE(
      demangle("_RNqCs2fqI2P2rA04_05utf8_identsu30_og.e___7hkackfecea1cbdathfdh9hlq6y").empty());
}

TEST(Demangle, LeavesTheRestAlone) {
  for (const char* name :
       {"", "a", "_Z", "_R", "main", "_start", "_ZZZZ", "_Rubbish", "__libc_start_main"})
    EXPECT_EQ(demangle(name), name);
  EXPECT_EQ(demangle("a\x1b[31m\n"), "a\\x1b[31m\\n");
  EXPECT_EQ(demangle(std::string("_ZN1a2\x1b"
                                 "bEv")),
            "a::\\x1b"
            "b");
  EXPECT_EQ(demangle("_Z" + std::string(9000, 'a')), "_Z" + std::string(9000, 'a'));
}

std::string substitution(std::size_t index) {
  if (index == 0) return "S_";
  std::string digits;
  for (--index; digits.empty() || index > 0; index /= 36)
    digits.insert(0, 1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[index % 36]);
  return "S" + digits + "_";
}

// a<int, int>, then each type is a pair of the one before: two to the power of 200 names.
TEST(Demangle, ExponentialOutputIsCutOff) {
  std::string name = "_Z1fI1aIiiE";
  for (std::size_t i = 1; i < 200; ++i)
    name += substitution(0) + "I" + substitution(i) + substitution(i) + "E";
  EXPECT_EQ(demangle(name + "Evv"), name + "Evv");

  std::string rust = "_RIC1a";
  std::size_t last = rust.size() - 2;
  rust += "TlluE";
  last = 6 - 2;
  const auto back = [](std::size_t at) {
    std::string digits;
    if (at == 0) return std::string("B_");
    for (--at; digits.empty() || at > 0; at /= 62)
      digits.insert(0, 1,
                    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[at % 62]);
    return "B" + digits + "_";
  };
  for (int i = 0; i < 100; ++i) {
    const std::size_t here = rust.size() - 2;
    rust += "T" + back(last) + back(last) + "E";
    last = here;
  }
  EXPECT_EQ(demangle(rust + "E"), rust + "E");
}

TEST(Demangle, DeepNestingIsCutOff) {
  for (const char* layer : {"P", "1aI", "N", "R", "F", "DpT_"}) {
    std::string name = "_Z1f";
    while (name.size() < 8000) name += layer;
    EXPECT_FALSE(demangle(name + "i").empty());
    EXPECT_FALSE(demangle(name).empty());
  }
  for (const char* layer : {"R", "T", "Nv", "I", "Y", "FK", "S", "B_"}) {
    std::string name = "_RIC1a";
    while (name.size() < 8000) name += layer;
    EXPECT_FALSE(demangle(name).empty());
  }
}

}  // namespace
}  // namespace overdue
