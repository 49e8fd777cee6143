#include "symbols/symbol_table.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace overdue {
namespace {

using Symbol = SymbolTableBuilder::Symbol;
using Overlap = SymbolTableBuilder::Overlap;

SymbolTable table_of(Overlap overlap, const std::vector<Symbol>& symbols) {
  SymbolTableBuilder builder(overlap, 1000, 1u << 20);
  for (const Symbol& symbol : symbols) builder.add(symbol);
  return std::move(builder).build();
}

std::string at(const SymbolTable& table, std::uint64_t address) {
  const auto found = table.find(address);
  return found ? std::string(found->name) + "+" + std::to_string(found->offset) : "";
}

std::string best(const std::vector<Symbol>& symbols) {
  const std::string forth = at(table_of(Overlap::inner, symbols), 100);
  const std::string back = at(table_of(Overlap::inner, {symbols.rbegin(), symbols.rend()}), 100);
  EXPECT_EQ(forth, back) << "depends on the order";
  return forth.substr(0, forth.find('+'));
}

TEST(SymbolTable, FindsWhatReachesAnAddress) {
  const auto table = table_of(Overlap::inner, {{.begin = 100, .size = 10, .name = "a"},
                                               {.begin = 120, .size = 10, .name = "b"}});
  EXPECT_EQ(at(table, 99), "");
  EXPECT_EQ(at(table, 100), "a+0");
  EXPECT_EQ(at(table, 109), "a+9");
  EXPECT_EQ(at(table, 110), "");
  EXPECT_EQ(at(table, 120), "b+0");
  EXPECT_EQ(at(table, 130), "");
  EXPECT_EQ(at(SymbolTable(), 0), "");
}

TEST(SymbolTable, UnknownSizesReachToTheNextSymbolOrTheBound) {
  SymbolTableBuilder builder(Overlap::inner, 10, 1000);
  builder.add({.begin = 100, .bound = 1000, .name = "a"});
  builder.add({.begin = 120, .bound = 130, .name = "b"});
  builder.add({.begin = 200, .bound = 1000, .name = "c"});
  builder.add_boundary(210);
  const SymbolTable table = std::move(builder).build();
  EXPECT_EQ(at(table, 119), "a+19");
  EXPECT_EQ(at(table, 129), "b+9");
  EXPECT_EQ(at(table, 130), "");
  EXPECT_EQ(at(table, 209), "c+9");
  EXPECT_EQ(at(table, 210), "");
}

TEST(SymbolTable, TheInnerSymbolWinsAndTheOuterGoesOnBehindIt) {
  const auto table = table_of(Overlap::inner, {{.begin = 100, .size = 100, .name = "outer"},
                                               {.begin = 120, .size = 40, .name = "middle"},
                                               {.begin = 130, .size = 10, .name = "inner"},
                                               {.begin = 190, .size = 20, .name = "over"}});
  EXPECT_EQ(at(table, 119), "outer+19");
  EXPECT_EQ(at(table, 129), "middle+9");
  EXPECT_EQ(at(table, 139), "inner+9");
  EXPECT_EQ(at(table, 140), "middle+20");
  EXPECT_EQ(at(table, 160), "outer+60");
  EXPECT_EQ(at(table, 190), "over+0");
  EXPECT_EQ(at(table, 209), "over+19");
}

TEST(SymbolTable, AliasesHaveAnOrder) {
  EXPECT_EQ(best({{.begin = 100, .bound = 200, .name = "label"},
                  {.begin = 100, .size = 1, .name = "sized"}}),
            "sized");
  EXPECT_EQ(best({{.begin = 100, .size = 9, .name = "longer_label", .is_label = true},
                  {.begin = 100, .size = 9, .name = "function"}}),
            "function");
  EXPECT_EQ(best({{.begin = 100, .size = 9, .name = "a_local_name", .binding = Binding::local},
                  {.begin = 100, .size = 9, .name = "weak", .binding = Binding::weak}}),
            "weak");
  EXPECT_EQ(best({{.begin = 100, .size = 9, .name = "__write_nocancel"},
                  {.begin = 100, .size = 9, .name = "write", .binding = Binding::weak}}),
            "write");
  EXPECT_EQ(best({{.begin = 100, .size = 9, .name = "global"},
                  {.begin = 100, .size = 9, .name = "longer_weak", .binding = Binding::weak}}),
            "global");
  EXPECT_EQ(best({{.begin = 100, .size = 9, .name = "open"},
                  {.begin = 100, .size = 9, .name = "open64"}}),
            "open64");
  EXPECT_EQ(
      best({{.begin = 100, .size = 9, .name = "bbb"}, {.begin = 100, .size = 9, .name = "aaa"}}),
      "aaa");
}

TEST(SymbolTable, ALongerAliasIsKeptForItsRest) {
  const auto table = table_of(
      Overlap::inner, {{.begin = 100, .size = 50, .name = "whole", .binding = Binding::local},
                       {.begin = 100, .size = 10, .name = "entry"}});
  EXPECT_EQ(at(table, 105), "entry+5");
  EXPECT_EQ(at(table, 110), "whole+10");
}

TEST(SymbolTable, LaterEntriesWin) {
  const auto table = table_of(Overlap::later, {{.begin = 100, .size = 100, .name = "first"},
                                               {.begin = 50, .size = 100, .name = "second"},
                                               {.begin = 120, .size = 10, .name = "third"},
                                               {.begin = 50, .size = 10, .name = "fourth"}});
  EXPECT_EQ(at(table, 55), "fourth+5");
  EXPECT_EQ(at(table, 60), "second+10");
  EXPECT_EQ(at(table, 119), "second+69");
  EXPECT_EQ(at(table, 120), "third+0");
  EXPECT_EQ(at(table, 130), "second+80");
  EXPECT_EQ(at(table, 150), "first+50");
  EXPECT_EQ(at(table, 200), "");
}

TEST(SymbolTable, EndsOfTheAddressSpace) {
  constexpr std::uint64_t top = std::numeric_limits<std::uint64_t>::max();
  const auto table = table_of(Overlap::inner, {{.begin = 0, .size = 1, .name = "null"},
                                               {.begin = 1u << 20, .size = top, .name = "huge"},
                                               {.begin = top - 1, .size = top, .name = "last"},
                                               {.begin = top, .bound = top, .name = "no room"}});
  EXPECT_EQ(at(table, 0), "null+0");
  EXPECT_EQ(at(table, (1u << 20) + 5), "huge+5");
  EXPECT_EQ(at(table, top - 1), "last+0");
  EXPECT_EQ(at(table, top), "");
}

TEST(SymbolTable, IsBoundedAndCountsWhatItDrops) {
  SymbolTableBuilder builder(Overlap::inner, 2, 10);
  builder.add({.begin = 1, .size = 1, .name = "a"});
  builder.add({.begin = 2, .size = 1, .name = "too long a name"});
  builder.add({.begin = 3, .size = 1, .name = "b"});
  builder.add({.begin = 4, .size = 1, .name = "c"});
  EXPECT_EQ(builder.dropped(), 2u);
  EXPECT_EQ(std::move(builder).build().size(), 2u);
}

TEST(SymbolTable, IsCompact) {
  SymbolTableBuilder builder(Overlap::inner, 1u << 20, 1u << 30);
  for (std::uint64_t i = 0; i < 100'000; ++i)
    builder.add({.begin = i * 16, .size = 16, .name = "ten bytes"});
  const SymbolTable table = std::move(builder).build();
  EXPECT_EQ(table.size(), 100'000u);
  EXPECT_LE(table.memory_bytes(), 100'000u * (20 + 10) + 1000);
}

}  // namespace
}  // namespace overdue
