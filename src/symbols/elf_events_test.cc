#include "symbols/elf_events.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "symbols/test_support.h"

namespace overdue {
namespace {

using symbols_test::bytes_of;
using symbols_test::content_of;
using symbols_test::fixtures;
using symbols_test::functions_of;

TEST(ElfEvents, FunctionsAreWhereNmSaysInTheFile) {
  for (const std::string name : {"pie", "static", "moved", "lazy"}) {
    const std::string program = fixtures + "/" + name;
    const ElfSymbols symbols(bytes_of(program));
    for (const std::string function :
         {"main", "local_function", "exported_function", "weak_alias", "assembly_function"}) {
      const auto listed = functions_of(program, "");
      const auto found = std::find_if(listed.begin(), listed.end(), [&](const auto& entry) {
        return entry.second.name == function;
      });
      ASSERT_NE(found, listed.end()) << function;
      const FunctionPlaces places = find_function(bytes_of(program), function);
      ASSERT_EQ(places.offsets.size(), 1u) << name << " " << function;
      EXPECT_EQ(places.offsets[0], symbols.file_offset_of(found->first)) << name << " " << function;
    }
  }
}

TEST(ElfEvents, WhatIsNotThereIsSaidWithTheNearest) {
  const FunctionPlaces places = find_function(bytes_of(fixtures + "/pie"), "local_funcion");
  EXPECT_TRUE(places.is_elf);
  EXPECT_TRUE(places.has_names);
  EXPECT_TRUE(places.offsets.empty());
  EXPECT_EQ(places.nearest, "local_function");
  EXPECT_FALSE(find_function(bytes_of("/etc/passwd"), "main").is_elf);
  EXPECT_TRUE(find_function(bytes_of(fixtures + "/pie"), "getpid").offsets.empty())
      << "it is another file's";
}

TEST(ElfEvents, DamageIsLeftOut) {
  std::string path = fixtures + "/pie";
  for (const char* library : {"/lib/x86_64-linux-gnu/libstdc++.so.6", "/lib64/libstdc++.so.6"})
    if (std::filesystem::exists(library)) path = library;  // has USDT probes
  const std::vector<std::byte> whole = content_of(path);
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::byte> bytes = whole;
    bytes.resize(random() % 4 == 0 ? random() % bytes.size() : bytes.size());
    for (int i = 0; i < 20 && bytes.size() > 8192; ++i) {
      bytes[random() % 4096] ^= std::byte{static_cast<unsigned char>(1u << random() % 8)};
      bytes[bytes.size() - 1 - random() % 4096] = std::byte{0xff};
    }
    find_function(FileBytes(bytes), "main");
    const UsdtPlaces places = find_usdt(FileBytes(bytes), "libstdcxx", "throw");
    for (const EventSite& site : places.sites) EXPECT_LT(site.offset, bytes.size());
  }
}

}  // namespace
}  // namespace overdue
