#include "resolve/python_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "resolve/library_fixture.h"

namespace overdue {
namespace {

constexpr std::uint64_t loaded_at = LibraryFixture::loaded_at;
constexpr std::uint64_t runtime_at = 0x1000, version_at = 0x2000, function_at = 0x2100,
                        types_at = 0x2200, table_at = 0x2300, image_bytes = 0x2400,
                        runtime_bytes = 0x800;
constexpr std::uint64_t debug_words = 64;

class Library : public LibraryFixture {
 public:
  explicit Library(std::uint32_t version) : LibraryFixture(image_bytes) {
    put(version_at, version);
    add_symbol("_PyRuntime", runtime_at, runtime_bytes);
    add_symbol("Py_Version", version_at, 4);
    add_symbol("PyCode_Type", types_at, 8);
    add_symbol("PyUnicode_Type", types_at + 8, 8);
    add_symbol("PyBytes_Type", types_at + 16, 8);
    add_symbol("PyGILState_GetThisThreadState", function_at, 32);
  }

  /// Writes an instruction of the function that loads thread states, and the number behind it.
  std::uint64_t instruction(std::initializer_list<unsigned char> bytes, std::uint64_t number,
                            std::uint64_t at = function_at + 4) {
    for (const unsigned char byte : bytes) put(at++, byte);
    put(at, static_cast<std::uint32_t>(number));
    return at + 4;
  }
  /// Writes one that is relative to the next instruction.
  std::uint64_t load(std::initializer_list<unsigned char> bytes, std::uint64_t from,
                     std::uint64_t at = function_at + 4) {
    return instruction(bytes, from - (at + bytes.size() + 4), at);
  }
  void debug_offsets(std::uint64_t value, bool is_free_threaded = false) {
    std::array<std::uint64_t, debug_words> words{};
    std::memcpy(words.data(), "xdebugpy", 8);
    words[2] = is_free_threaded;
    for (std::size_t i = 3; i < words.size(); ++i) words[i] = value + i;
    put(runtime_at, words);
  }
  /// Renames a symbol, which is then another.
  void lose(std::string_view name) {
    const auto at = std::ranges::search(bytes(), std::as_bytes(std::span(name)));
    ASSERT_FALSE(at.empty());
    *at.begin() = std::byte{'x'};
  }

  FoundPython find(std::size_t readable = image_bytes) const {
    return find_python(
        {.start = loaded_at, .end = loaded_at + image_bytes, .inode = 1, .path = "/libpython3"},
        FileBytes(bytes()), memory(readable));
  }
};

TEST(PythonLayout, OldVersionsHaveAKeyOfThreads) {
  for (const std::uint32_t version : {0x030b07f0u, 0x030c01f0u}) {
    Library library(version);
    library.load({0x8b, 0x3d}, runtime_at + 0x244);
    const FoundPython found = library.find();
    EXPECT_EQ(found.support, PythonSupport::yes);
    EXPECT_EQ(found.layout.runtime.thread_key, loaded_at + runtime_at + 0x244);
    EXPECT_EQ(found.layout.code_type, loaded_at + types_at);
    EXPECT_EQ(found.layout.bytes_type, loaded_at + types_at + 16);
    library.load({0x48, 0x8d, 0x3d}, runtime_at + 0x240);
    EXPECT_EQ(library.find().layout.runtime.thread_key, loaded_at + runtime_at + 0x244);
    library.load({0x8b, 0x3d}, runtime_at + runtime_bytes);
    EXPECT_EQ(library.find().support, PythonSupport::version) << "not within the runtime";
  }
}

// As gcc writes it in shared libraries: the runtime's address is in a table.
TEST(PythonLayout, KeysAreFoundByTheAddressOfTheRuntime) {
  Library library(0x030c01f0);
  library.put(table_at, loaded_at + runtime_at);
  const std::uint64_t next = library.load({0x48, 0x8b, 0x05}, table_at);
  library.instruction({0x48, 0x8d, 0x98}, 0x608, next);
  EXPECT_EQ(library.find().layout.runtime.thread_key, loaded_at + runtime_at + 0x60c);
  library.instruction({0x8b, 0xb8}, 0x254, next);
  library.put(next + 6, std::uint16_t{0});
  EXPECT_EQ(library.find().layout.runtime.thread_key, loaded_at + runtime_at + 0x254);
  library.put(table_at, loaded_at + version_at);
  EXPECT_EQ(library.find().support, PythonSupport::version) << "another variable's address";
  library.put(table_at, std::uint64_t{0});
  EXPECT_EQ(library.find().support, PythonSupport::yes) << "the program has only begun";
  library.load({0x48, 0x8d, 0x05}, runtime_at);
  EXPECT_EQ(library.find().layout.runtime.thread_key, loaded_at + runtime_at + 0x254);
}

TEST(PythonLayout, NewVersionsSayWhereTheirFieldsAre) {
  for (const std::uint32_t version : {0x030d00f0u, 0x030e00f0u}) {
    Library library(version);
    library.debug_offsets(0x100);
    const FoundPython found = library.find();
    EXPECT_EQ(found.support, PythonSupport::yes);
    EXPECT_EQ(found.layout.runtime.interpreter, loaded_at + runtime_at + 0x105);
    EXPECT_EQ(found.layout.runtime.nested, PYTHON_DIRECT);
    library.debug_offsets(0x100, true);
    EXPECT_EQ(library.find().support, PythonSupport::free_threaded);
    library.debug_offsets(1u << 15);
    EXPECT_EQ(library.find().support, PythonSupport::version) << "no offset is so large";
    library.put(runtime_at, 'x' + 1);
    EXPECT_EQ(library.find().support, PythonSupport::version) << "no cookie";
  }
}

TEST(PythonLayout, OtherVersionsAreNotGuessed) {
  for (const std::uint32_t version : {0x02071200u, 0x030a0df0u, 0x030f00f0u, 0x040000f0u, 0u}) {
    Library library(version);
    library.debug_offsets(0x100);
    library.load({0x8b, 0x3d}, runtime_at + 0x244);
    EXPECT_EQ(library.find().support, PythonSupport::version) << version;
  }
}

TEST(PythonLayout, WithoutItsSymbolsThereIsNone) {
  Library other(0x030b07f0);
  other.lose("_PyRuntime");
  EXPECT_EQ(other.find().support, PythonSupport::none);
  Library stripped(0x030b07f0);
  stripped.load({0x8b, 0x3d}, runtime_at + 0x244);
  stripped.lose("PyBytes_Type");
  EXPECT_EQ(stripped.find().support, PythonSupport::version);
}

TEST(PythonLayout, WhatCannotBeReadIsSaid) {
  Library library(0x030d00f0);
  library.debug_offsets(0x100);
  EXPECT_EQ(library.find(0).support, PythonSupport::unreadable);
  EXPECT_EQ(library.find(runtime_at).support, PythonSupport::unreadable);
  library.put(0, std::uint32_t{0});
  EXPECT_EQ(library.find().support, PythonSupport::unreadable) << "no ELF file";
}

TEST(PythonLayout, DamagedFilesAreRead) {
  for (const std::uint32_t version : {0x030b07f0u, 0x030e00f0u}) {
    Library library(version);
    library.debug_offsets(0x100);
    library.load({0x8b, 0x3d}, runtime_at + 0x244);
    unsigned found = 0;
    for (std::byte& byte : library.bytes()) {
      const std::byte good = byte;
      for (const std::byte damage : {std::byte{0xff}, std::byte{0x01}, std::byte{0x80}}) {
        byte = good ^ damage;
        found += library.find().support == PythonSupport::yes;
      }
      byte = good;
    }
    EXPECT_GT(found, library.bytes().size());
  }
}

TEST(PythonLayout, ProgramsAndLibrariesHaveItsName) {
  const auto may_be = [](std::string_view path, std::uint64_t inode = 1) {
    return may_be_python({.inode = inode, .path = path});
  };
  EXPECT_TRUE(may_be("/usr/bin/python3.11"));
  EXPECT_TRUE(may_be("/usr/lib/libpython3.13.so.1.0"));
  EXPECT_FALSE(may_be("/usr/lib/python3/libx.so"));
  EXPECT_FALSE(may_be("/usr/bin/python2.7"));
  EXPECT_FALSE(may_be("python3.11", 0));
  EXPECT_FALSE(may_be(""));
}

}  // namespace
}  // namespace overdue
