// The rows of real files, and what readelf makes of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>

#include <fmt/format.h>
#include "symbols/open_file.h"

#include "unwind/cfi_table.h"

namespace overdue {
namespace {

constexpr std::array names = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
                              "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "ra"};
using Cells = std::map<std::string, std::string>;

std::string signed_text(std::int32_t value) {
  return (value < 0 ? "" : "+") + std::to_string(value);
}

std::string as_readelf(const CfiRule& rule) {
  switch (rule.kind) {
    case CfiRule::Kind::unspecified:
    case CfiRule::Kind::undefined:
      return "u";
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
  cells["CFA"] = row.cfa.kind == CfiRule::Kind::expression
                     ? "exp"
                     : names[static_cast<std::size_t>(row.cfa.base)] + signed_text(row.cfa.value);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (const std::string text = as_readelf(row.rules[i]); text != "u") cells[names[i]] = text;
  return cells;
}

struct Checked {
  std::size_t functions = 0, rows = 0, wrong = 0;
};

class Comparison {
 public:
  explicit Comparison(const std::string& path) : table_(FileBytes(open_regular(path))) {}

  /// What readelf says about one function: its rows by where they begin.
  void check(std::uint64_t begin, std::uint64_t end, std::map<std::uint64_t, Cells> rows) {
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
        std::string text = found ? "" : "no row";
        for (const auto& [name, cell] : found ? as_readelf(*found) : Cells())
          text += fmt::format("{}={} ", name, cell);
        text += "; readelf: ";
        for (const auto& [name, cell] : row->second) text += fmt::format("{}={} ", name, cell);
        ADD_FAILURE() << std::hex << pc << ": " << text;
      }
    }
  }
  Checked checked;

 private:
  CfiTable table_;
};

/// Reads `readelf --debug-dump=frames-interp`.
Checked compare(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(
      popen(("readelf --debug-dump=frames-interp '" + path + "' 2>/dev/null").c_str(), "re"),
      pclose);
  Comparison comparison(path);
  std::map<std::string, std::map<std::uint64_t, Cells>> commons;
  std::map<std::uint64_t, Cells> rows;
  std::vector<std::string> columns;
  std::string common;
  unsigned long long begin = 0, end = 0, next_begin = 0, next_end = 0;
  bool is_function = false, is_eh_frame = false;
  const auto finish = [&] {
    if (!is_function) {
      if (!common.empty()) commons[common] = rows;
    } else {
      // Without a row of its own it has that of its CIE.
      if (rows.empty() && !commons[common].empty()) rows[begin] = commons[common].begin()->second;
      if (is_eh_frame) comparison.check(begin, end, rows);
    }
    rows.clear();
    common.clear();
    is_function = false;
  };
  std::vector<char> line(4096);
  while (fgets(line.data(), static_cast<int>(line.size()), pipe.get())) {
    const std::string text = line.data();
    char offset[32], id[32];
    if (text.starts_with("Contents of")) {
      finish();
      is_eh_frame = text.find(".eh_frame ") != std::string::npos;
    } else if (sscanf(line.data(), "%31s %*s %*s FDE cie=%31s pc=%llx..%llx", offset, id,
                      &next_begin, &next_end) == 4) {
      finish();
      common = id;
      is_function = true;
      begin = next_begin;
      end = next_end;
    } else if (text.find(" CIE ") != std::string::npos &&
               sscanf(line.data(), "%31s", offset) == 1) {
      finish();
      common = offset;
    } else if (text.starts_with("   LOC")) {
      std::istringstream words(text);
      columns.clear();
      for (std::string word; words >> word;) columns.push_back(word);
    } else if (isxdigit(text[0]) && text.find(" ZERO ") == std::string::npos) {
      std::istringstream words(text);
      std::string word;
      words >> word;
      Cells& cells = rows[std::stoull(word, nullptr, 16)];
      cells.clear();
      for (std::size_t i = 1; i < columns.size() && words >> word;) {
        if (word[0] == '(') continue;  // a register's name for the second time
        if (word != "u" && (i == 1 || std::ranges::find(names, columns[i]) != names.end()))
          cells[columns[i]] = word;
        ++i;
      }
    }
  }
  finish();
  return comparison.checked;
}

class CfiOracle : public testing::TestWithParam<const char*> {};

TEST_P(CfiOracle, RowsAreReadelfs) {
  std::error_code error;
  const std::string path = std::filesystem::canonical(GetParam(), error);
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
                    "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
                    "/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so", "/proc/self/exe"),
    [](const auto& param) {
      std::string name = std::filesystem::path(param.param).filename();
      std::ranges::replace_if(name, [](unsigned char c) { return !isalnum(c); }, '_');
      return name;
    });

}  // namespace
}  // namespace overdue
