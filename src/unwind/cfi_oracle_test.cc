// The rows of real files, compared with those of readelf.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "symbols/open_file.h"
#include "unwind/cfi_table.h"
#include "unwind/test_support.h"

namespace overdue {
namespace {

constexpr std::array register_names = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
                                       "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "ra"};
/// The rules of a row as readelf writes them: the CFA's first, then those of `register_names`; ""
/// stands for "u".
using Cells = std::array<std::string, register_names.size() + 1>;

std::string signed_text(std::int32_t value) {
  return (value < 0 ? "" : "+") + std::to_string(value);
}

std::string as_readelf(const CfiRule& rule) {
  switch (rule.kind) {
    case CfiRule::Kind::unspecified:
    case CfiRule::Kind::undefined:
      return {};
    case CfiRule::Kind::same:
      return "s";
    case CfiRule::Kind::at_offset:
      return "c" + signed_text(rule.value);
    case CfiRule::Kind::offset:
      return "v" + signed_text(rule.value);
    case CfiRule::Kind::in_register:
      return "r" + std::to_string(static_cast<unsigned>(rule.base));
    case CfiRule::Kind::at_expression:
      return "exp";
    case CfiRule::Kind::expression:
      return "vexp";
  }
  return {};
}

Cells as_readelf(const CfiRow& row) {
  Cells cells;
  cells[0] =
      row.cfa.kind == CfiRule::Kind::expression
          ? "exp"
          : register_names[static_cast<std::size_t>(row.cfa.base)] + signed_text(row.cfa.value);
  for (std::size_t i = 0; i < register_names.size(); ++i) cells[i + 1] = as_readelf(row.rules[i]);
  return cells;
}

std::string to_text(const Cells& cells) {
  std::string text = "CFA=" + cells[0];
  for (std::size_t i = 0; i < register_names.size(); ++i)
    if (!cells[i + 1].empty()) text += fmt::format(" {}={}", register_names[i], cells[i + 1]);
  return text;
}

struct Checked {
  std::size_t functions = 0, rows = 0, wrong = 0;
};

class Comparison {
 public:
  explicit Comparison(const std::string& path) : table_(FileBytes(open_regular(path))) {}

  /// Compares one function with readelf's rows, which are sorted by begin.
  void check(std::uint64_t begin, std::uint64_t end, const std::map<std::uint64_t, Cells>& rows) {
    if (begin == end) return;
    ++checked.functions;
    for (auto row = rows.begin(); row != rows.end(); ++row) {
      const auto next = std::next(row);
      const std::uint64_t until = next == rows.end() ? end : next->first;
      if (row->first >= end) continue;
      for (const std::uint64_t pc :
           {row->first, row->first + (until - row->first) / 2, until - 1}) {
        const auto found = table_.find(pc);
        ++checked.rows;
        if (found && as_readelf(*found) == row->second && found->begin <= pc && pc < found->end)
          continue;
        if (++checked.wrong > 5) continue;
        ADD_FAILURE() << std::hex << pc << ": " << (found ? to_text(as_readelf(*found)) : "no row")
                      << "; readelf: " << to_text(row->second);
      }
    }
  }
  Checked checked;

 private:
  CfiTable table_;
};

constexpr std::size_t others = 99;

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view spaces = " \n";
  std::vector<std::string_view> words;
  for (std::size_t at = 0; (at = line.find_first_not_of(spaces, at)) != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(spaces, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

/// Reads `readelf --debug-dump=frames-interp`.
Checked compare(const std::string& path) {
  unwind_test::Lines lines("readelf --debug-dump=frames-interp '" + path + "'");
  Comparison comparison(path);
  std::map<std::string, std::map<std::uint64_t, Cells>> commons;
  std::map<std::uint64_t, Cells> rows;
  std::vector<std::size_t> columns;  // cell of each column; `others` if none
  std::string common;
  unsigned long long begin = 0, end = 0, next_begin = 0, next_end = 0;
  bool is_function = false, is_known = false;
  const auto finish = [&] {
    if (!is_function) {
      if (!common.empty()) commons[common] = rows;
    } else {
      // A function without a row of its own has that of its CIE.
      if (rows.empty() && !commons[common].empty()) rows[begin] = commons[common].begin()->second;
      if (is_known) comparison.check(begin, end, rows);
    }
    rows.clear();
    common.clear();
    is_function = false;
  };
  while (const char* line = lines.next()) {
    const std::string_view text = line;
    char offset[32], id[32];
    if (text.starts_with("Contents of")) {
      finish();
      is_known = text.find(".eh_frame ") != std::string_view::npos ||
                 text.find(".debug_frame ") != std::string_view::npos;
    } else if (sscanf(line, "%31s %*s %*s FDE cie=%31s pc=%llx..%llx", offset, id, &next_begin,
                      &next_end) == 4) {
      finish();
      common = id;
      is_function = true;
      begin = next_begin;
      end = next_end;
    } else if (text.find(" CIE ") != std::string::npos && sscanf(line, "%31s", offset) == 1) {
      finish();
      common = offset;
    } else if (text.starts_with("   LOC")) {
      columns.clear();
      for (const std::string_view word : words_of(text.substr(6))) {
        const auto found = std::ranges::find(register_names, word);
        columns.push_back(word == "CFA" ? 0
                          : found == register_names.end()
                              ? others
                              : 1 + std::size_t(found - register_names.begin()));
      }
    } else if (isxdigit(text[0]) && text.find(" ZERO ") == std::string::npos) {
      const auto words = words_of(text);
      Cells& cells = rows[std::strtoull(line, nullptr, 16)];
      cells = {};
      auto column = columns.begin();
      for (std::size_t i = 1; i < words.size() && column != columns.end(); ++i) {
        if (words[i][0] == '(') continue;  // a register's name for the second time
        if (words[i] != "u" && *column != others) cells[*column] = words[i];
        ++column;
      }
    }
  }
  finish();
  return comparison.checked;
}

/// A file without a folder is that of the first JVM, in whichever version this system has.
std::filesystem::path where_is(const std::string& file) {
  if (file.starts_with('/')) return file;
  std::error_code error;
  for (const auto& jvm : std::filesystem::directory_iterator("/usr/lib/jvm", error))
    if (std::filesystem::exists(jvm.path() / "lib/server" / file, error))
      return jvm.path() / "lib/server" / file;
  return file;
}

class CfiOracle : public testing::TestWithParam<const char*> {};

TEST_P(CfiOracle, RowsAreReadelfs) {
  std::error_code error;
  const std::string path = std::filesystem::canonical(where_is(GetParam()), error);
  if (error) GTEST_SKIP() << GetParam() << " is not here";
  const Checked checked = compare(path);
  EXPECT_EQ(checked.wrong, 0u) << "of " << checked.rows;
  EXPECT_GT(checked.functions, 0u);
  std::printf("%s: %zu addresses in %zu functions\n", path.c_str(), checked.rows,
              checked.functions);
}

INSTANTIATE_TEST_SUITE_P(
    Files, CfiOracle,
    testing::Values("/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2",
                    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/bin/python3", "/bin/bash",
                    "/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "libjvm.so", "/proc/self/exe",
                    OVERDUE_UNWIND_FIXTURES "/debug_frame"),
    [](const auto& param) {
      std::string name = std::filesystem::path(param.param).filename();
      std::ranges::replace_if(name, [](unsigned char c) { return !isalnum(c); }, '_');
      return name;
    });

}  // namespace
}  // namespace overdue
