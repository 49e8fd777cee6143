// Source lines and inlined functions, compared with addr2line: LLVM's, because that of binutils
// names inlined functions after symbols, and does not read all that clang writes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

#include "symbols/demangle.h"
#include "symbols/lines.h"
#include "symbols/test_support.h"

namespace overdue {
namespace {

using symbols_test::content_of;
using symbols_test::fixtures;
using symbols_test::functions_of;
using symbols_test::output_of;

SourceLines lines_of(const std::string& file, const LineLimits& limits = {}) {
  return SourceLines(open_regular(fixtures + "/" + file), limits);
}

/// In the form of addr2line. Files by their last name: folders are joined in many ways.
std::string to_text(const SourceLine& line) {
  const std::string name = std::filesystem::path(line.file).filename();
  return fmt::format("{} {}:{}\n", line.function.empty() ? "??" : line.function,
                     name.empty() ? "??" : name, line.line);
}

std::string to_text(const std::vector<SourceLine>& lines) {
  std::string text;
  for (const SourceLine& line : lines) text += to_text(line);
  return text;
}

/// The functions and lines of each address.
std::map<std::uint64_t, std::vector<SourceLine>> by_addr2line(
    const std::string& path, const std::vector<std::uint64_t>& addresses) {
  const std::string list = testing::TempDir() + "overdue-addresses-" + std::to_string(getpid());
  {
    std::ofstream file(list);
    for (const std::uint64_t address : addresses) file << fmt::format("{:#x}\n", address);
  }
  std::istringstream lines(
      output_of("timeout 60 llvm-addr2line-19 -fia -e '" + path + "' <" + list));
  std::filesystem::remove(list);
  std::map<std::uint64_t, std::vector<SourceLine>> found;
  std::vector<SourceLine>* last = nullptr;
  for (std::string name, place; std::getline(lines, name);) {
    if (name.starts_with("0x")) {
      last = &found[std::stoull(name, nullptr, 16)];
      continue;
    }
    std::getline(lines, place);
    const std::size_t colon = place.rfind(':');  // "FILE:LINE (discriminator 2)"
    if (!last || colon == std::string::npos) continue;
    last->push_back({.function = demangle(name),
                     .file = place.substr(0, colon),
                     .line = static_cast<unsigned>(std::atoi(place.c_str() + colon + 1))});
  }
  return found;
}

class Lines : public testing::TestWithParam<const char*> {};

TEST_P(Lines, AreThoseOfAddr2line) {
  const std::string file = GetParam();
  SourceLines lines = lines_of(file);
  ASSERT_TRUE(lines.has_debug_info());
  std::vector<std::uint64_t> addresses;
  const std::string named = file.find('/') == std::string::npos ? file : "lines";
  for (const auto& [begin, function] : functions_of(fixtures + "/" + named, ""))
    if (function.name == "main" || function.name.find("fixture") != std::string::npos)
      for (std::uint64_t at = begin; at < begin + function.size; ++at) addresses.push_back(at);
  auto expected = by_addr2line(fixtures + "/" + file, addresses);
  if (expected.empty()) GTEST_SKIP() << "no llvm-addr2line-19";
  std::size_t wrong = 0, inlined = 0;
  for (const std::uint64_t address : addresses) {
    const auto ours = lines.find(address);
    auto& found = expected.at(address);
    // If DWARF has no linkage name, addr2line names the last function after the symbol.
    if (!ours.empty() && !found.empty() &&
        found.back().function.find(
            ours.back().function.substr(0, ours.back().function.find('<'))) != std::string::npos)
      found.back().function = ours.back().function;
    inlined += ours.size() > 1;
    const std::string text = to_text(ours), theirs = to_text(found);
    if (text != theirs && ++wrong < 5)
      ADD_FAILURE() << std::hex << address << ": " << text << "addr2line:\n" << theirs;
    for (std::size_t i = 0; i < ours.size(); ++i)
      EXPECT_EQ(ours[i].is_inlined, i + 1 < ours.size());
  }
  EXPECT_GT(addresses.size(), 300u);
  EXPECT_GT(inlined, 100u);
  EXPECT_EQ(wrong, 0u) << "of " << addresses.size();
}

INSTANTIATE_TEST_SUITE_P(Files, Lines,
                         testing::Values("lines", "lines_4", "lines_packed",
                                         "separate_lines/linked.debug"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::ranges::replace_if(
                               name, [](unsigned char c) { return !isalnum(c); }, '_');
                           return name;
                         });

std::uint64_t address_of(const std::string& file, const std::string& name) {
  for (const auto& [address, function] : functions_of(fixtures + "/" + file, ""))
    if (demangle(function.name) == name) return address;
  return 0;
}

TEST(SourceLines, OfWhatHasNone) {
  for (const char* file : {"tiny", "separate/stripped", "nothing"}) {
    SourceLines lines = lines_of(file);
    EXPECT_FALSE(lines.has_debug_info()) << file;
    EXPECT_TRUE(lines.find(0x1000).empty());
  }
  EXPECT_FALSE(SourceLines(Fd()).has_debug_info());
  EXPECT_TRUE(lines_of("lines").find(0).empty());
  EXPECT_TRUE(lines_of("lines").find(~std::uint64_t{0}).empty());
}

TEST(SourceLines, Limits) {
  const std::uint64_t address = address_of("lines", "fixture::sorted");
  ASSERT_NE(address, 0u);
  const auto find = [&](const char* file, auto set) {
    LineLimits limits;
    set(limits);
    return to_text(lines_of(file, limits).find(address));
  };
  EXPECT_THAT(find("lines", [](LineLimits&) {}), testing::HasSubstr("fixture::sorted lines.cc:"));
  for (const char* file : {"lines", "lines_packed"})  // which is smaller, packed
    EXPECT_EQ(find(file, [](LineLimits& limits) { limits.section_bytes = 20000; }), "");
  EXPECT_EQ(find("lines", [](LineLimits& limits) { limits.units = 0; }), "");
  EXPECT_EQ(find("lines", [](LineLimits& limits) { limits.ranges = 0; }), "");
  const std::string no_lines = find("lines", [](LineLimits& limits) { limits.program_bytes = 10; });
  EXPECT_THAT(no_lines, testing::EndsWith("fixture::sorted ??:0\n"));
  EXPECT_EQ(no_lines.find(":3"), std::string::npos) << no_lines;
  for (const auto& set : {+[](LineLimits& limits) { limits.entries = 3; },
                          +[](LineLimits& limits) { limits.depth = 0; }}) {
    const std::string text = find("lines", set);
    EXPECT_THAT(text, testing::StartsWith("?? ")) << "the line alone";
    EXPECT_EQ(std::ranges::count(text, '\n'), 1);
  }
}

/// A program with another DWARF, in a folder of its own.
class Built {
 public:
  explicit Built(const std::string& command)
      : folder_(testing::TempDir() + "overdue-lines-" + std::to_string(getpid())) {
    std::filesystem::create_directory(folder_);
    is_built = run(command);
  }
  bool run(const std::string& command) const {
    return std::system(fmt::format("cd '{}' && ({}) >/dev/null 2>&1", folder_, command).c_str()) ==
           0;
  }
  ~Built() {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }
  Built(const Built&) = delete;
  Built& operator=(const Built&) = delete;
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  bool is_built = false;

 private:
  std::string folder_;
};

/// Whether a file is opened while this lives.
class OpenWatch {
 public:
  explicit OpenWatch(const std::string& path) : events_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    EXPECT_GE(inotify_add_watch(events_.get(), path.c_str(), IN_OPEN), 0) << path;
  }
  bool has_seen() const {
    std::array<char, 4096> events;
    return ::read(events_.get(), events.data(), events.size()) > 0;
  }

 private:
  Fd events_;
};

// A function whose name is in the alternate file: libdw would open the path named there, even a
// fifo, on which it would wait forever.
constexpr std::string_view with_alternate = R"(
.text
.globl _start
_start: nop; nop; nop; nop
.section .debug_abbrev,"",@progbits
.byte 1,0x11,1,0x11,1,0x12,7,0,0
.byte 2,0x2e,0,3,0xa1,0x3e,0x11,1,0x12,7,0,0
.byte 0
.section .debug_info,"",@progbits
.long 9f-8f
8: .short 4; .long .debug_abbrev; .byte 8
.byte 1; .quad _start; .quad 4
.byte 2; .long 0; .quad _start; .quad 4
.byte 0
9:
.section .gnu_debugaltlink,"",@progbits
)";

TEST(SourceLines, OpensNoAlternateFile) {
  const Built built("touch other");
  ASSERT_TRUE(built.is_built);
  {
    std::ofstream file(built.path("linked.s"));
    file << with_alternate << ".asciz \"" << built.path("other") << "\"\n.zero 20\n";
  }
  if (!built.run("cc -nostdlib -static -o linked linked.s")) GTEST_SKIP() << "no assembler";
  const OpenWatch watch(built.path("other"));
  SourceLines lines(open_regular(built.path("linked")));
  ASSERT_TRUE(lines.has_debug_info());
  const std::string start = output_of("nm '" + built.path("linked") + "' | grep ' _start$'");
  const auto found = lines.find(std::strtoull(start.c_str(), nullptr, 16));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].function, "");
  EXPECT_FALSE(watch.has_seen());
}

TEST(SourceLines, OpensNoSplitFile) {
  const Built built(
      "printf 'int main(void) { return 0; }' >a.c && cc -gsplit-dwarf -c a.c && "
      "cc -g a.o -o a");
  if (!built.is_built || !std::filesystem::exists(built.path("a.dwo"))) GTEST_SKIP() << "no cc";
  const OpenWatch watch(built.path("a.dwo"));
  SourceLines lines(open_regular(built.path("a")));
  EXPECT_FALSE(lines.has_debug_info());
  EXPECT_FALSE(watch.has_seen());
}

// libdw would read past the section.
TEST(SourceLines, TextsWithoutAnEnd) {
  const Built built("printf abc >texts");
  const std::string command = "objcopy --update-section .debug_str=texts '" + fixtures + "/lines' ";
  ASSERT_TRUE(built.is_built && built.run(command + "cut"));
  EXPECT_FALSE(SourceLines(open_regular(built.path("cut"))).has_debug_info());
  ASSERT_TRUE(built.run("printf 'abc\\0' >texts; " + command + "whole"));
  EXPECT_TRUE(SourceLines(open_regular(built.path("whole"))).has_debug_info());
}

// libdw chooses which of them it reads, so the section to check is unknown.
TEST(SourceLines, SectionsThatAreThereTwice) {
  const Built built("printf 'abc\\0' >texts");
  const auto is_read = [&](const std::string& options) {
    EXPECT_TRUE(built.is_built && built.run("objcopy --add-section .debug_more=texts '" + fixtures +
                                            "/lines' more && objcopy " + options + " more"))
        << options;
    return SourceLines(open_regular(built.path("more"))).has_debug_info();
  };
  EXPECT_TRUE(is_read(""));
  EXPECT_FALSE(is_read("--rename-section .debug_more=.debug_str"));
  EXPECT_FALSE(is_read("--rename-section .debug_more=.debug_str.dwo"));
}

/// One unit with one function, at _start. Its name has the form $form and the value `name`.
/// .debug_str holds the text "abc", .debug_str_offsets the offsets of its begin and its end.
std::string with_name(std::string_view form, std::string_view name) {
  std::string source = R"(
.text
.globl _start
_start: nop; nop; nop; nop
.section .debug_abbrev,"",@progbits
.byte 1,0x11,1,0x72,0x17,0x11,1,0x12,7,0,0
.byte 2,0x2e,0,0x11,1,0x12,7,3,$form,0,0
.byte 0
.section .debug_str,"",@progbits
.asciz "abc"
.section .debug_str_offsets,"",@progbits
.long 12; .short 5,0; .long 0; .long 4
.section .debug_info,"",@progbits
.long 9f-8f
8: .short 5; .byte 1,8; .long .debug_abbrev
.byte 1; .long 8; .quad _start; .quad 4
.byte 2; .quad _start; .quad 4; $name
9:
)";
  source.replace(source.find("$form"), 5, form);
  return source.replace(source.find("$name"), 5, name);
}

// libdw must not get a text at the end of its section, or one that goes on past it.
TEST(SourceLines, NamesBehindTheirSection) {
  const Built built("true");
  const auto function = [&](std::string_view form, std::string_view name) {
    {
      std::ofstream(built.path("named.s")) << with_name(form, name);
    }
    EXPECT_TRUE(built.run("cc -nostdlib -static -o named named.s"));
    SourceLines lines(open_regular(built.path("named")));
    EXPECT_TRUE(lines.has_debug_info());
    const std::string start = output_of("nm '" + built.path("named") + "' | grep ' _start$'");
    const auto found = lines.find(std::strtoull(start.c_str(), nullptr, 16));
    return found.size() == 1 ? found[0].function : "nothing found";
  };
  const std::string_view strx1 = "0x25", string = "8";
  EXPECT_EQ(function(strx1, ".byte 0, 0"), "abc");
  EXPECT_EQ(function(strx1, ".byte 1, 0"), "");
  EXPECT_EQ(function(string, ".asciz \"here\"; .byte 0"), "here");
  EXPECT_EQ(function(string, ".ascii \"here\""), "");
}

// Cut anywhere, or with a bit of the debug sections flipped: no crash, and all results are
// printable.
TEST(SourceLines, Damaged) {
  const std::vector<std::byte> good = content_of(fixtures + "/lines");
  const Fd file(memfd_create("damaged", MFD_CLOEXEC));
  const std::uint64_t address = address_of("lines", "fixture::sorted");
  const auto look = [&](std::span<const std::byte> bytes) {
    ASSERT_EQ(ftruncate(file.get(), 0), 0);
    ASSERT_EQ(pwrite(file.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
    SourceLines lines(open_regular(fmt::format("/proc/self/fd/{}", file.get())));
    for (std::uint64_t at = address; at < address + 64; at += 16)
      for (const SourceLine& line : lines.find(at))
        EXPECT_EQ(line.file.find('\n'), std::string::npos);
  };
  for (std::size_t size = 0; size < good.size(); size += good.size() / 64 + 1)
    look(std::span(good).first(size));
  std::uint32_t random = 1;
  for (int i = 0; i < 300; ++i) {
    auto bad = good;
    random = random * 1664525 + 1013904223;
    bad[good.size() / 4 + random % (good.size() * 3 / 4)] ^= std::byte(1u << (random >> 29));
    look(bad);
  }
}

}  // namespace
}  // namespace overdue
