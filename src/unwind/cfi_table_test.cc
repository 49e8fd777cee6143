// CIEs and FDEs made by hand.

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>

#include "unwind/cfi_table.h"
#include "unwind/expression.h"

// clang-tidy does not see that ASSERT_TRUE leaves the test.
// NOLINTBEGIN(bugprone-unchecked-optional-access)
namespace overdue {
namespace {

/// Writes a section; entries get their length when they are finished.
class SectionWriter {
 public:
  std::size_t begin_common(const char* augmentation, std::initializer_list<unsigned> data = {}) {
    const std::size_t at = begin(0);
    bytes({1});
    for (const char* letter = augmentation;; ++letter) {
      bytes({static_cast<unsigned char>(*letter)});
      if (*letter == 0) break;
    }
    bytes({1, 0x78, 16});  // code by 1, data by -8, return address 16
    if (augmentation[0] == 'z') bytes({static_cast<unsigned>(data.size())});
    bytes(data);
    return at;
  }
  /// With absolute addresses of 8 bytes.
  std::size_t begin_function(std::size_t common, std::uint64_t from, std::uint64_t size,
                             bool has_augmentation = true) {
    const std::size_t at = begin(static_cast<std::uint32_t>(section.size() + 4 - common));
    word(from);
    word(size);
    if (has_augmentation) bytes({0});
    return at;
  }
  void end(std::size_t at) {
    while (section.size() % 4 != 0) bytes({0});
    const auto size = static_cast<std::uint32_t>(section.size() - at - 4);
    std::memcpy(section.data() + at, &size, sizeof size);
  }
  void bytes(std::initializer_list<unsigned> values) {
    for (const unsigned value : values) section.push_back(static_cast<std::byte>(value));
  }
  template <typename T>
  void word(T value) {
    for (std::size_t i = 0; i < sizeof value; ++i)
      bytes({static_cast<unsigned>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xff)});
  }
  std::size_t begin(std::uint32_t id) {
    const std::size_t at = section.size();
    word(std::uint32_t{0});
    word(id);
    return at;
  }
  CfiTable table(std::uint64_t address = 0x100) const {
    return CfiTable::of_section(section, address);
  }
  std::vector<std::byte> section;
};

/// One function at 0x1000 that is 0x100 long, after `def_cfa rsp+8; ra at cfa-8`.
CfiTable table_of(std::initializer_list<unsigned> program) {
  SectionWriter writer;
  const std::size_t common = writer.begin_common("zR", {0x00});
  writer.bytes({0x0c, 7, 8, 0x90, 1});
  writer.end(common);
  const std::size_t function = writer.begin_function(common, 0x1000, 0x100);
  writer.bytes(program);
  writer.end(function);
  return writer.table();
}

using Kind = CfiRule::Kind;

CfiRule at_offset(std::int32_t value) {
  return {.kind = Kind::at_offset, .value = value};
}

TEST(CfiTable, RowsBeginAndEndWhereItAdvances) {
  // push rbp at 1; mov at 4; leave at 0x50
  const CfiTable table = table_of({0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 0x4c, 0x0c, 7, 8});
  EXPECT_EQ(table.functions(), 1u);
  EXPECT_FALSE(table.find(0xfff));
  EXPECT_FALSE(table.find(0x1100));
  const auto first = table.find(0x1000), second = table.find(0x1003), third = table.find(0x104f),
             last = table.find(0x10ff);
  ASSERT_TRUE(first && second && third && last);
  EXPECT_EQ(first->begin, 0x1000u);
  EXPECT_EQ(first->end, 0x1001u);
  EXPECT_EQ(first->cfa.value, 8);
  EXPECT_EQ(first->rule(Register::rbp).kind, Kind::unspecified);
  EXPECT_EQ(first->rule(Register::rip), at_offset(-8));
  EXPECT_EQ(second->cfa.value, 16);
  EXPECT_EQ(second->rule(Register::rbp), at_offset(-16));
  EXPECT_EQ(third->cfa.base, Register::rbp);
  EXPECT_EQ(third->cfa.value, 16);
  EXPECT_EQ(last->begin, 0x1050u);
  EXPECT_EQ(last->end, 0x1100u);
  EXPECT_EQ(last->cfa.base, Register::rsp);
}

TEST(CfiTable, RememberedStatesAndInitialRules) {
  const CfiTable table = table_of({0x0e, 32, 0x83, 4,    0x0a, 0x44, 0x0e, 8,  0xc3, 0x0a, 0x44,
                                   0x0e, 48, 0x0b, 0x44, 0x0b, 0x44, 0x07, 16, 0x44, 0xd0});
  EXPECT_EQ(table.find(0x1000)->rule(Register::rbx), at_offset(-32));
  EXPECT_EQ(table.find(0x1004)->rule(Register::rbx).kind, Kind::unspecified);
  EXPECT_EQ(table.find(0x1008)->cfa.value, 8);
  EXPECT_EQ(table.find(0x100c)->cfa.value, 32);
  EXPECT_EQ(table.find(0x100c)->rule(Register::rbx), at_offset(-32));
  EXPECT_EQ(table.find(0x1010)->rule(Register::rip).kind, Kind::undefined);
  EXPECT_EQ(table.find(0x1014)->rule(Register::rip), at_offset(-8));
}

TEST(CfiTable, EveryRule) {
  const CfiTable table = table_of({0x05, 3,   4,              // offset_extended
                                   0x08, 6,                   // same_value
                                   0x09, 12,  0,              // register
                                   0x11, 13,  0x7e,           // offset_extended_sf -2
                                   0x14, 14,  2,              // val_offset
                                   0x15, 15,  0x7d,           // val_offset_sf -3
                                   0x10, 1,   2,    0x77, 8,  // expression
                                   0x16, 2,   1,    0x31,     // val_expression
                                   0x2f, 0,   3,              // negative
                                   0x2e, 24,                  // args_size
                                   0x05, 40,  1,              // a vector register
                                   0x12, 6,   0x7e,           // def_cfa_sf
                                   0x13, 0x7d});              // def_cfa_offset_sf
  const auto row = table.find(0x1000);
  ASSERT_TRUE(row);
  EXPECT_EQ(row->rule(Register::rbx), at_offset(-32));
  EXPECT_EQ(row->rule(Register::rbp).kind, Kind::same);
  EXPECT_EQ(row->rule(Register::r12).kind, Kind::in_register);
  EXPECT_EQ(row->rule(Register::r12).base, Register::rax);
  EXPECT_EQ(row->rule(Register::r13), at_offset(16));
  EXPECT_EQ(row->rule(Register::r14).kind, Kind::offset);
  EXPECT_EQ(row->rule(Register::r14).value, -16);
  EXPECT_EQ(row->rule(Register::r15).value, 24);
  EXPECT_EQ(row->rule(Register::rdx).kind, Kind::at_expression);
  EXPECT_EQ(table.expression(row->rule(Register::rdx)).size(), 2u);
  EXPECT_EQ(row->rule(Register::rcx).kind, Kind::expression);
  EXPECT_EQ(row->rule(Register::rax), at_offset(24));
  EXPECT_EQ(row->cfa.base, Register::rbp);
  EXPECT_EQ(row->cfa.value, 24);
}

TEST(CfiTable, ProgramsThatMakeNoSenseHaveNoRow) {
  EXPECT_TRUE(table_of({0x00}).find(0x1080));
  EXPECT_FALSE(table_of({0x0b}).find(0x1080)) << "restored, never remembered";
  EXPECT_FALSE(table_of({0x3f}).find(0x1080)) << "no instruction";
  EXPECT_FALSE(table_of({0x0c, 40, 8}).find(0x1080)) << "no such register";
  EXPECT_FALSE(table_of({0x0f, 60, 0}).find(0x1080)) << "an expression past the end";
  EXPECT_FALSE(table_of({0x0e, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}).find(0x1080)) << "too far";
  std::vector<std::byte> nested;
  SectionWriter writer;
  const std::size_t common = writer.begin_common("zR", {0x00});
  writer.bytes({0x0c, 7, 8, 0x90, 1});
  writer.end(common);
  const std::size_t function = writer.begin_function(common, 0x1000, 0x100);
  for (int i = 0; i < 1000; ++i) writer.bytes({0x0a});
  writer.end(function);
  EXPECT_FALSE(writer.table().find(0x1000));
}

TEST(CfiTable, AugmentationsAndEncodings) {
  SectionWriter writer;
  // A personality by an indirect pc-relative pointer, an LSDA, code by pc-relative 4 bytes; a
  // signal.
  const std::size_t common = writer.begin_common("zPLRS", {0x9b, 1, 2, 3, 4, 0x1b, 0x1b});
  writer.bytes({0x0c, 7, 8, 0x90, 1});
  writer.end(common);
  const std::size_t function =
      writer.begin(static_cast<std::uint32_t>(writer.section.size() + 4 - common));
  const std::uint64_t here = 0x100 + writer.section.size();
  writer.word(static_cast<std::uint32_t>(0x1000 - here));
  writer.word(std::uint32_t{0x20});
  writer.bytes({4, 9, 9, 9, 9});
  writer.end(function);
  const std::size_t plain = writer.begin_common("");
  writer.bytes({0x0c, 7, 16, 0x90, 1});
  writer.end(plain);
  writer.end(writer.begin_function(plain, 0x3000, 0x20, false));
  const std::size_t unknown = writer.begin_common("zX", {0x00});
  writer.end(unknown);
  writer.end(writer.begin_function(unknown, 0x2000, 0x20));
  const CfiTable table = writer.table();
  EXPECT_EQ(table.functions(), 2u);
  ASSERT_TRUE(table.find(0x101f));
  EXPECT_TRUE(table.find(0x1000)->is_signal_frame);
  EXPECT_FALSE(table.find(0x2000));
  ASSERT_TRUE(table.find(0x3000));
  EXPECT_FALSE(table.find(0x3000)->is_signal_frame);
}

/// .debug_frame: one function of 0x100 at `from`, its CIE of `version`, in 32- or 64-bit DWARF.
std::vector<std::byte> debug_section(unsigned version, bool is_64bit, std::uint64_t from,
                                     const char* augmentation = "") {
  SectionWriter writer;
  writer.bytes({0, 0, 0, 0});  // bytes in front: offsets count from the beginning
  const std::size_t common = writer.section.size();
  const auto begin = [&](std::uint64_t id) {
    if (is_64bit) writer.word(std::uint32_t{0xffffffff});
    const std::size_t at = writer.section.size();
    if (!is_64bit) {
      writer.word(std::uint32_t{0});
      writer.word(static_cast<std::uint32_t>(id));
      return at;
    }
    writer.word(std::uint64_t{0});
    writer.word(id);
    return at;
  };
  const auto end = [&](std::size_t at) {
    const std::size_t size = is_64bit ? 8 : 4;
    while (writer.section.size() % 8 != 0) writer.bytes({0});
    const std::uint64_t length = writer.section.size() - at - size;
    std::memcpy(writer.section.data() + at, &length, size);
  };
  std::size_t at = begin(~std::uint64_t{0});
  writer.bytes({version});
  for (const char* letter = augmentation; *letter; ++letter)
    writer.bytes({static_cast<unsigned char>(*letter)});
  writer.bytes({0});
  if (version == 4) writer.bytes({8, 0});
  writer.bytes({1, 0x78, 16, 0x0c, 7, 8, 0x90, 1});
  end(at);
  at = begin(common);
  writer.word(from);
  writer.word(std::uint64_t{0x100});
  writer.bytes({0x41, 0x0e, 16, 0x0f, 1, 0x30});
  end(at);
  return writer.section;
}

TEST(CfiTable, OfDebuggers) {
  for (const bool is_64bit : {false, true})
    for (const unsigned version : {1u, 3u, 4u}) {
      const CfiTable table = CfiTable::of_debug_section(debug_section(version, is_64bit, 0x1000));
      EXPECT_EQ(table.functions(), 1u);
      const auto first = table.find(0x1000), last = table.find(0x10ff);
      ASSERT_TRUE(first && last) << version << is_64bit;
      EXPECT_EQ(first->cfa.value, 8);
      EXPECT_EQ(first->rule(Register::rip), at_offset(-8));
      EXPECT_EQ(table.expression(last->cfa).size(), 1u);
      EXPECT_FALSE(table.find(0x1100));
      EXPECT_FALSE(first->is_signal_frame);
    }
  EXPECT_EQ(CfiTable::of_debug_section(debug_section(4, false, 0)).functions(), 0u) << "left out";
  EXPECT_EQ(CfiTable::of_debug_section(debug_section(5, false, 8)).functions(), 0u) << "unknown";
  EXPECT_EQ(CfiTable::of_debug_section(debug_section(1, false, 8, "x")).functions(), 0u);
  const auto signal = CfiTable::of_debug_section(debug_section(1, false, 8, "S")).find(8);
  EXPECT_TRUE(signal && signal->is_signal_frame);
}

// With any bit flipped, and cut anywhere.
TEST(CfiTable, Damaged) {
  SectionWriter writer;
  const std::size_t common = writer.begin_common("zPLR", {0x9b, 1, 2, 3, 4, 0x1b, 0x00});
  writer.bytes({0x0c, 7, 8, 0x90, 1});
  writer.end(common);
  const std::size_t function = writer.begin_function(common, 0x1000, 0x100);
  writer.bytes({0x41, 0x0a, 0x0f, 3,    0x77, 8,    0x06, 0x16, 6, 2, 0x31, 0x22, 0x44, 0x0b,
                0x10, 3,    1,    0x77, 0x41, 0x01, 0x20, 0x10, 0, 0, 0,    0,    0,    0});
  writer.end(function);
  const auto look = [](const std::vector<std::byte>& section, bool is_debug) {
    const CfiTable table =
        is_debug ? CfiTable::of_debug_section(section) : CfiTable::of_section(section, 0x100);
    for (std::uint64_t pc = 0xff0; pc < 0x1110; pc += 3)
      if (const auto row = table.find(pc)) {
        EXPECT_LE(row->begin, pc);
        EXPECT_LT(pc, row->end);
        for (const CfiRule& rule : row->rules) table.expression(rule);
      }
  };
  const auto damage = [&](const std::vector<std::byte>& good, bool is_debug) {
    for (std::size_t at = 0; at < good.size(); ++at)
      for (unsigned bit = 0; bit < 8; ++bit) {
        auto bad = good;
        bad[at] ^= std::byte(1u << bit);
        look(bad, is_debug);
      }
    for (std::size_t size = 0; size < good.size(); ++size)
      look({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)}, is_debug);
  };
  damage(writer.section, false);
  for (const bool is_64bit : {false, true}) damage(debug_section(4, is_64bit, 0x1000), true);
}

std::optional<std::uint64_t> value_of(std::initializer_list<unsigned> code,
                                      std::optional<std::uint64_t> first = std::nullopt) {
  std::vector<std::byte> bytes;
  for (const unsigned byte : code) bytes.push_back(static_cast<std::byte>(byte));
  static const std::uint64_t memory[] = {0x1122334455667788, 42};
  Registers registers;
  registers.set(Register::rsp, 0x8000);
  registers.set(Register::rip, 0x102b);
  return evaluate(bytes, registers,
                  StackCopy({{.address = 0x8000, .bytes = std::as_bytes(std::span(memory))}}),
                  first);
}

TEST(Expression, OfPltStubs) {
  // breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus
  EXPECT_EQ(value_of({0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}), 0x8010u);
}

TEST(Expression, Operations) {
  EXPECT_EQ(value_of({0x77, 8, 0x06}), 42u);
  EXPECT_EQ(value_of({0x77, 0, 0x94, 2}), 0x7788u);
  EXPECT_EQ(value_of({0x77, 4, 0x94, 4}), 0x11223344u);
  EXPECT_EQ(value_of({0x23, 5}, 10), 15u);
  EXPECT_EQ(value_of({0x09, 0xfe, 0x19}), 2u);
  EXPECT_EQ(value_of({0x31, 0x32, 0x33, 0x17}), 2u);  // 1 2 3 → 3 1 2
  EXPECT_EQ(value_of({0x31, 0x32, 0x16, 0x1c}), 1u);
  EXPECT_EQ(value_of({0x31, 0x28, 1, 0, 0x35, 0x36}), 6u);  // over one instruction
}

TEST(Expression, Refused) {
  EXPECT_FALSE(value_of({}));
  EXPECT_FALSE(value_of({0x22}, 1)) << "one value";
  EXPECT_FALSE(value_of({0x70, 0})) << "rax is not known";
  EXPECT_FALSE(value_of({0x30, 0x06})) << "not copied";
  EXPECT_FALSE(value_of({0x2f, 0xfd, 0xff})) << "for ever";
  EXPECT_FALSE(value_of({0x2f, 0x00, 0x80})) << "before the beginning";
  EXPECT_FALSE(value_of({0x31, 0x30, 0x1b})) << "by 0";
  EXPECT_FALSE(value_of({0x12, 0x2f, 0xfc, 0xff}, 1)) << "too deep";
  EXPECT_EQ(value_of({0x10, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0x09, 0xff,
                      0x1b}),
            std::uint64_t{1} << 63);
}

}  // namespace
}  // namespace overdue
// NOLINTEND(bugprone-unchecked-optional-access)
