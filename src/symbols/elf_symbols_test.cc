#include "symbols/elf_symbols.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "symbols/test_support.h"
#include "symbols/vdso.h"
#include "symbols/xz.h"

namespace overdue {
namespace {

using symbols_test::bytes_of;
using symbols_test::content_of;
using symbols_test::fixtures;
using symbols_test::functions_of;

std::uint64_t address_in(const std::string& program, const std::string& name) {
  for (const auto& [address, listed] : functions_of(program, ""))
    if (listed.name == name) return address;
  ADD_FAILURE() << "nm finds no " << name << " in " << program;
  return 0;
}

std::string at(const ElfSymbols& symbols, std::uint64_t address) {
  const auto found = symbols.find(address);
  return found ? std::string(found->name) + "+" + std::to_string(found->offset) : "";
}

class EveryKind : public testing::TestWithParam<const char*> {};

TEST_P(EveryKind, HasItsFunctions) {
  const std::string program = fixtures + "/" + GetParam();
  const ElfSymbols symbols(bytes_of(program));
  EXPECT_TRUE(symbols.is_elf());
  EXPECT_TRUE(symbols.has_full_table());
  EXPECT_EQ(symbols.build_id().size(), 40u);
  const std::uint64_t local = address_in(program, "local_function");
  EXPECT_EQ(at(symbols, local + 1), "local_function+1");
  EXPECT_EQ(at(symbols, address_in(program, "main")), "main+0");
  EXPECT_EQ(at(symbols, address_in(program, "exported_function")), "exported_function+0");
}

TEST_P(EveryKind, ConvertsOffsetsOfTheFile) {
  const std::string program = fixtures + "/" + GetParam();
  const ElfSymbols symbols(bytes_of(program));
  const std::uint64_t address = address_in(program, "assembly_next");
  const auto offset = symbols.file_offset_of(address);
  ASSERT_TRUE(offset);
  EXPECT_EQ(symbols.address_of(*offset), address);
  // The bytes there are those of the function.
  const auto content = content_of(program);
  ASSERT_LT(*offset, content.size());
#ifdef __x86_64__
  EXPECT_EQ(content[*offset], std::byte{0xc3});  // ret
#endif
  EXPECT_EQ(symbols.address_of(content.size()), std::nullopt);
}

TEST_P(EveryKind, HasSizesAndNesting) {
  const std::string program = fixtures + "/" + GetParam();
  const ElfSymbols symbols(bytes_of(program));
  const std::uint64_t assembly = address_in(program, "assembly_function");
  EXPECT_EQ(at(symbols, assembly), "assembly_function+0");
  EXPECT_EQ(at(symbols, address_in(program, "assembly_next") - 1), "assembly_function+15");
  const std::uint64_t outer = address_in(program, "outer_function");
  const std::uint64_t inner = address_in(program, "inner_function");
  EXPECT_EQ(at(symbols, inner - 1), "outer_function+" + std::to_string(inner - outer - 1));
  EXPECT_EQ(at(symbols, inner), "inner_function+0");
  for (const auto& [address, listed] : functions_of(program, "")) {
    if (listed.name == "inner_function") {
      EXPECT_EQ(at(symbols, address + listed.size),
                "outer_function+" + std::to_string(inner + listed.size - outer));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, EveryKind, testing::Values("pie", "static", "moved", "lazy"),
                         [](const auto& param) { return std::string(param.param); });

TEST(ElfSymbols, NamesPltStubs) {
  for (const char* name : {"pie", "lazy", "ibt"}) {
    if (!std::filesystem::exists(fixtures + "/" + name)) continue;
    const ElfSymbols symbols(bytes_of(fixtures + "/" + name));
    std::size_t stubs = 0;
    bool has_getpid = false;
    for (std::uint64_t offset = 0; offset < 0x10000; ++offset) {
      const auto address = symbols.address_of(offset);
      const auto found = address ? symbols.find(*address) : std::nullopt;
      if (!found || found->offset != 0 || !found->name.ends_with("@plt")) continue;
      ++stubs;
      has_getpid |= found->name == "getpid@plt";
    }
    EXPECT_TRUE(has_getpid) << name;
    // getpid, printf, fflush, getchar or getc; __cxa_finalize if there is one
    EXPECT_GE(stubs, 4u) << name;
  }
}

TEST(ElfSymbols, CxxNamesStayMangled) {
  const std::string program = fixtures + "/names";
  const ElfSymbols symbols(bytes_of(program));
  EXPECT_EQ(at(symbols, address_in(program, "_ZN7fixture10overloadedEi")),
            "_ZN7fixture10overloadedEi+0");
}

TEST(ElfSymbols, ThirtyTwoBits) {
  const std::string program = fixtures + "/tiny32";
  if (!std::filesystem::exists(program)) GTEST_SKIP() << "this compiler cannot build for 32 bits";
  const ElfSymbols symbols(bytes_of(program));
  EXPECT_EQ(symbols.build_id().size(), 40u);
  const std::uint64_t address = address_in(program, "tiny_function");
  EXPECT_EQ(at(symbols, address), "tiny_function+0");
  EXPECT_EQ(symbols.address_of(symbols.file_offset_of(address).value()), address);
}

// Separate debug files. `pie` is the program before its symbols were removed.

TEST(ElfSymbols, StrippedHasWhatItExports) {
  const ElfSymbols symbols(bytes_of(fixtures + "/separate/stripped"));
  EXPECT_FALSE(symbols.has_full_table());
  EXPECT_EQ(at(symbols, address_in(fixtures + "/pie", "local_function")), "");
}

TEST(ElfSymbols, GnuDebugdata) {
  const ElfSymbols symbols(bytes_of(fixtures + "/separate/debugdata"));
  EXPECT_TRUE(symbols.has_full_table());
  EXPECT_EQ(at(symbols, address_in(fixtures + "/pie", "local_function")), "local_function+0");
  const ElfSymbols bounded(bytes_of(fixtures + "/separate/debugdata"), {}, {},
                           {.debugdata_bytes = 100});
  EXPECT_FALSE(bounded.has_full_table());
}

/// Opens files of fixtures as if they were elsewhere.
struct PretendFiles {
  std::map<std::string, std::string> files;
  std::vector<std::string> asked;
  OpenFile open() {
    return [this](const std::string& path) {
      asked.push_back(path);
      const auto found = files.find(path);
      return found == files.end() ? Fd() : open_regular(found->second);
    };
  }
};

TEST(ElfSymbols, DebugFileByBuildId) {
  const std::uint64_t local = address_in(fixtures + "/pie", "local_function");
  const std::string id = ElfSymbols(bytes_of(fixtures + "/pie")).build_id();
  const std::string path =
      "/usr/lib/debug/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug";
  PretendFiles pretend{.files = {{path, fixtures + "/separate/linked.debug"}}, .asked = {}};
  const ElfSymbols symbols(bytes_of(fixtures + "/separate/stripped"), pretend.open(),
                           "/bin/stripped");
  EXPECT_TRUE(symbols.has_full_table());
  EXPECT_EQ(at(symbols, local), "local_function+0");

  // Another program's debug file under that name
  pretend.files[path] = fixtures + "/static";
  EXPECT_FALSE(
      ElfSymbols(bytes_of(fixtures + "/separate/stripped"), pretend.open(), "/bin/stripped")
          .has_full_table());

  // One with a symbol table needs no other.
  pretend.asked.clear();
  EXPECT_TRUE(ElfSymbols(bytes_of(fixtures + "/pie"), pretend.open(), "/bin/pie").has_full_table());
  EXPECT_TRUE(pretend.asked.empty());
}

TEST(ElfSymbols, DebugFileByLink) {
  const std::uint64_t local = address_in(fixtures + "/pie", "local_function");
  for (const char* path : {"/opt/bin/linked.debug", "/opt/bin/.debug/linked.debug",
                           "/usr/lib/debug/opt/bin/linked.debug"}) {
    PretendFiles pretend{.files = {{path, fixtures + "/separate/linked.debug"}}, .asked = {}};
    const ElfSymbols symbols(bytes_of(fixtures + "/separate/linked"), pretend.open(),
                             "/opt/bin/linked");
    EXPECT_EQ(at(symbols, local), "local_function+0") << path;
    // The right name, and the wrong checksum
    pretend.files[path] = fixtures + "/pie";
    EXPECT_FALSE(
        ElfSymbols(bytes_of(fixtures + "/separate/linked"), pretend.open(), "/opt/bin/linked")
            .has_full_table());
    pretend.files[path] = fixtures + "/separate/linked.debug";
    EXPECT_FALSE(ElfSymbols(bytes_of(fixtures + "/separate/linked"), pretend.open(),
                            "/opt/bin/linked", {.debug_file_bytes = 100})
                     .has_full_table());
  }
}

TEST(ElfSymbols, DebugFileOfAPrelinkedFile) {
  // As after prelink: `moved` is `pie` at other addresses, with a debug file that was not moved.
  const std::uint64_t local = address_in(fixtures + "/moved", "local_function");
  const std::uint64_t debug = address_in(fixtures + "/pie", "local_function");
  ASSERT_EQ(local - debug, 0x40000000u);
  auto stripped = content_of(fixtures + "/moved");
  auto id = ElfImage::read(FileBytes(stripped))->build_id();
  // No section headers: no symbols of its own.
  Elf64_Ehdr header;
  std::memcpy(&header, stripped.data(), sizeof header);
  header.e_shoff = header.e_shnum = 0;
  std::memcpy(stripped.data(), &header, sizeof header);
  auto other = content_of(fixtures + "/pie");
  // Give the debug file the wanted build id: the notes differ only in the id.
  const auto old_id = ElfImage::read(FileBytes(other))->build_id();
  const auto raw = [](const std::string& hex) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2)
      bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    return bytes;
  };
  const auto from = raw(old_id), to = raw(id);
  const auto place = std::search(other.begin(), other.end(), from.begin(), from.end());
  ASSERT_NE(place, other.end());
  std::ranges::copy(to, place);
  const std::string path = testing::TempDir() + "/prelinked.debug";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(other.data()),
             static_cast<std::streamsize>(other.size()));
  const ElfSymbols symbols(
      FileBytes(stripped), [&](const std::string&) { return open_regular(path); }, "/bin/moved");
  EXPECT_TRUE(symbols.has_full_table());
  EXPECT_EQ(at(symbols, local), "local_function+0");
  std::filesystem::remove(path);
}

TEST(ElfSymbols, VdsoFromMemory) {
  if (getauxval(AT_SYSINFO_EHDR) == 0) GTEST_SKIP() << "no vdso here";
  const auto maps = ProcessMaps::read(getpid());
  const Mapping* mapping = maps->find(getauxval(AT_SYSINFO_EHDR));
  ASSERT_TRUE(mapping);
  EXPECT_EQ(mapping->path, "[vdso]");
  const auto bytes = read_vdso(getpid(), *mapping);
  const ElfSymbols symbols{FileBytes(bytes)};
  EXPECT_TRUE(symbols.is_elf());
  bool found = false;
  for (std::uint64_t offset = 0; offset < bytes.size(); ++offset) {
    const auto address = symbols.address_of(offset);
    const auto symbol = address ? symbols.find(*address) : std::nullopt;
    found |= symbol && symbol->name.find("clock_gettime") != std::string_view::npos;
  }
  EXPECT_TRUE(found);
  // A process that is gone had the same [vdso].
  EXPECT_EQ(read_vdso(1 << 30, *mapping), bytes);
}

TEST(ElfSymbols, WhatIsNoElfFileHasNothing) {
  for (const std::string path :
       {"/dev/null", "/dev/zero", "/proc/self/cmdline", "/nonexistent", "/tmp"}) {
    const ElfSymbols symbols(bytes_of(path));
    EXPECT_FALSE(symbols.is_elf());
    EXPECT_EQ(at(symbols, 0), "");
    EXPECT_EQ(symbols.address_of(0), std::nullopt);
  }
  EXPECT_FALSE(ElfSymbols().is_elf());
}

TEST(ElfSymbols, KeepsToItsLimits) {
  const ElfSymbols symbols(bytes_of(fixtures + "/static"), {}, {}, {.symbols = 10});
  EXPECT_GT(symbols.dropped(), 10u);
  EXPECT_LT(symbols.memory_bytes(), 10'000u);
}

TEST(UnpackXz, IsBounded) {
  const auto packed = content_of(fixtures + "/separate/mini.xz");
  const auto whole = unpack_xz(packed, 64 << 20);
  ASSERT_TRUE(whole);
  EXPECT_EQ(unpack_xz(packed, whole->size()), whole);
  EXPECT_FALSE(unpack_xz(packed, whole->size() - 1));
  EXPECT_FALSE(unpack_xz(std::span(packed).first(packed.size() - 1), 64 << 20));
  EXPECT_FALSE(unpack_xz({}, 64 << 20));
}

}  // namespace
}  // namespace overdue
