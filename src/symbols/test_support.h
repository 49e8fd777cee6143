#pragma once

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "symbols/elf_symbols.h"
#include "symbols/open_file.h"

namespace overdue::symbols_test {

inline const std::string fixtures = OVERDUE_SYMBOL_FIXTURES;

inline FileBytes bytes_of(const std::string& path) {
  return FileBytes(open_regular(path));
}

inline std::vector<std::byte> content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

/// The standard output of a command; its errors are ignored.
inline std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen((command + " 2>/dev/null").c_str(), "re"),
                                                   pclose);
  std::string text;
  std::array<char, 65536> part;
  for (std::size_t got; pipe && (got = fread(part.data(), 1, part.size(), pipe.get())) > 0;)
    text.append(part.data(), got);
  return text;
}

/// A function according to nm.
struct Listed {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::string name;
};

/// The functions that nm lists, without versions; by address.
inline std::multimap<std::uint64_t, Listed> functions_of(const std::string& file,
                                                         const std::string& options) {
  std::multimap<std::uint64_t, Listed> functions;
  const std::string text = output_of("nm --defined-only -S " + options + " '" + file + "'");
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string line = text.substr(begin, end - begin);
    Listed listed;
    char type = 0;
    int name_at = 0;
    unsigned long long address = 0, size = 0;
    // "b" alone is a type, though a number as well.
    const std::size_t second = line.find(' ') + 1;
    const bool has_size = line.find(' ', second) != second + 1;
    const int fields =
        has_size ? sscanf(line.c_str(), "%llx %llx %c %n", &address, &size, &type, &name_at)
                 : sscanf(line.c_str(), "%llx %c %n", &address, &type, &name_at);
    if (fields < (has_size ? 3 : 2)) continue;
    if (std::string_view("tTwWi").find(type) == std::string_view::npos) continue;
    listed.address = address;
    listed.size = size;
    listed.name = line.substr(static_cast<std::size_t>(name_at));
    listed.name = listed.name.substr(0, listed.name.find('@', 1));
    functions.emplace(address, listed);
  }
  return functions;
}

}  // namespace overdue::symbols_test
