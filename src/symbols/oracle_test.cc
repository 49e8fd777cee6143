// Real files of this machine, compared with nm, readelf, addr2line and c++filt.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <set>
#include <sstream>

#include "symbols/demangle.h"
#include "symbols/symbolizer.h"
#include "symbols/test_support.h"

namespace overdue {
namespace {

using symbols_test::bytes_of;
using symbols_test::fixtures;
using symbols_test::functions_of;
using symbols_test::Listed;
using symbols_test::output_of;

std::vector<std::string> real_files() {
  std::vector<std::string> files;
  for (const char* path : {"/usr/bin/python3", "/bin/bash", "/proc/self/exe", "/lib/ld-linux.so.2"})
    if (std::filesystem::exists(path)) files.push_back(std::filesystem::canonical(path));
  // The libraries of this process, libc and libstdc++ among them.
  const auto maps = ProcessMaps::read(getpid());
  for (const Mapping& mapping : maps->all())
    if (mapping.is_executable && mapping.is_file() && std::filesystem::exists(mapping.path))
      files.emplace_back(mapping.path);
  std::ranges::sort(files);
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

/// Each function that nm lists has a name that nm lists there, from its first to its last byte.
void expect_as_listed(const std::string& file, const ElfSymbols& symbols,
                      const std::multimap<std::uint64_t, Listed>& listed) {
  std::set<std::pair<std::uint64_t, std::string>> known;
  for (const auto& [address, function] : listed) known.emplace(address, function.name);
  const FileBytes bytes = bytes_of(file);
  const auto image = ElfImage::read(bytes);
  std::size_t wrong = 0, checked = 0;
  const auto complain = [&](const Listed& function, const std::string& why) {
    if (++wrong < 10)
      ADD_FAILURE() << function.name << " at " << std::hex << function.address << ": " << why;
  };
  for (const auto& [address, function] : listed) {
    // Ends of sections are no functions, and nothing may follow them.
    if (function.name == "_etext" || function.name == "etext" || function.name == "__etext")
      continue;
    if (!image->is_code(address)) continue;  // nm's W is data as well
    ++checked;
    const auto first = symbols.find(address);
    if (!first) {
      complain(function, "no name");
    } else if (first->offset != 0 || !known.contains({address, std::string(first->name)})) {
      complain(function,
               "called " + std::string(first->name) + "+" + std::to_string(first->offset));
    } else if (function.size > 0) {
      const std::uint64_t last = address + function.size - 1;
      const auto found = symbols.find(last);
      if (!found || !known.contains({last - found->offset, std::string(found->name)}))
        complain(function,
                 "its last byte is called " + std::string(found ? found->name : "nothing"));
    }
  }
  EXPECT_EQ(wrong, 0u) << "of " << checked;
}

TEST(Oracle, ExportedFunctionsAsNmListsThem) {
  std::size_t functions = 0;
  for (const std::string& file : real_files()) {
    SCOPED_TRACE(file);
    auto listed = functions_of(file, "-D");
    functions += listed.size();
    const ElfSymbols symbols(bytes_of(file));
    if (symbols.has_full_table()) listed.merge(functions_of(file, ""));
    expect_as_listed(file, symbols, listed);
  }
  EXPECT_GT(functions, 5000u);
}

TEST(Oracle, FunctionsOfDebugFilesAsNmListsThem) {
  std::size_t files = 0;
  for (const std::string& file : real_files()) {
    SCOPED_TRACE(file);
    const std::string id = ElfSymbols(bytes_of(file)).build_id();
    const auto paths = debug_file_paths_by_id(id);
    if (paths.empty() || !std::filesystem::exists(paths[0])) continue;
    ++files;
    const ElfSymbols symbols(bytes_of(file), open_regular, file);
    EXPECT_TRUE(symbols.has_full_table());
    auto listed = functions_of(file, "-D");
    listed.merge(functions_of(paths[0], ""));
    expect_as_listed(file, symbols, listed);
  }
  if (files == 0) GTEST_SKIP() << "no debug file is installed (libc6-dbg)";
}

TEST(Oracle, StubsAsObjdumpNamesThem) {
#ifndef __x86_64__
  GTEST_SKIP() << "compared on x86-64";
#endif
  std::vector<std::string> files = real_files();
  for (const char* name : {"/pie", "/ibt"}) files.push_back(fixtures + name);
  files.push_back(fixtures + "/lazy");
  std::size_t stubs = 0;
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    const FileBytes bytes = bytes_of(file);
    if (!ElfImage::read(bytes)->is_64bit()) continue;
    const ElfSymbols symbols(bytes);
    std::istringstream lines(
        output_of("objdump -d -j .plt -j .plt.sec -j .plt.got '" + file + "'"));
    for (std::string line; std::getline(lines, line);) {
      unsigned long long address = 0;
      char name[4096];
      if (sscanf(line.c_str(), "%llx <%4095[^>]>:", &address, name) != 2) continue;
      const std::string stub = name;
      // IRELATIVE slots have no symbol; objdump numbers the header, and names .plt by .plt.sec's.
      if (!stub.ends_with("@plt") || stub.starts_with("*ABS*")) continue;
      const auto found = symbols.find(address);
      const std::string expected = stub.substr(0, stub.find('@')) + "@plt";
      if (found && found->name.ends_with("@plt")) ++stubs;
      EXPECT_EQ(found ? std::string(found->name) : "", expected);
    }
  }
  EXPECT_GT(stubs, 100u);
}

TEST(Oracle, BuildIdsAsReadelfPrintsThem) {
  std::string command = "readelf -nW";
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/bin")) {
    std::error_code error;
    const auto path = std::filesystem::canonical(entry.path(), error);
    if (!error && path.string().find('\'') == std::string::npos && files.size() < 300)
      files.insert(path);
  }
  for (const std::string& file : real_files()) files.insert(file);
  for (const std::string& file : files) command += " '" + file + "'";
  std::map<std::string, std::string> expected;
  std::istringstream lines(output_of(command));
  std::string file;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("File: ")) file = line.substr(6);
    if (const auto at = line.find("Build ID: "); at != std::string::npos)
      expected[file] = line.substr(at + 10);
  }
  EXPECT_GT(expected.size(), 50u);
  for (const std::string& path : files)
    EXPECT_EQ(ElfSymbols(bytes_of(path)).build_id(), expected[path]) << path;
}

// addr2line uses debug information, not symbols. With `-i`, its last function is the one that the
// others are inlined into.
TEST(Oracle, AddressesAsAddr2lineNamesThem) {
  const std::string file = fixtures + "/names";
  const ElfSymbols symbols(bytes_of(file));
  const auto listed = functions_of(file, "");
  std::size_t compared = 0;
  for (const auto& [begin, function] : listed) {
    if (function.size == 0) continue;
    for (const std::uint64_t address :
         {begin, begin + function.size / 2, begin + function.size - 1}) {
      std::ostringstream command;
      command << "addr2line -f -i -e '" << file << "' " << std::hex << address;
      std::istringstream lines(output_of(command.str()));
      std::string name, line, last;
      while (std::getline(lines, name) && std::getline(lines, line)) last = name;
      if (last.empty() || last == "??") continue;
      const auto found = symbols.find(address);
      ASSERT_TRUE(found) << last;
      // Constructors have several names.
      bool is_alias = demangle(found->name) == demangle(last);  // clones: .isra.0
      for (auto [at, end] = listed.equal_range(address - found->offset); at != end; ++at)
        is_alias |= at->second.name == last;
      EXPECT_TRUE(is_alias || found->name == last) << found->name << " and " << last;
      ++compared;
    }
  }
  EXPECT_GT(compared, 10u);
}

TEST(Oracle, CxxNamesAsCxxfiltPrintsThem) {
  std::set<std::string> names;
  for (const std::string& file : real_files())
    for (const auto& [address, function] : functions_of(file, "-D"))
      if (function.name.starts_with("_Z")) names.insert(function.name);
  const std::string list = testing::TempDir() + "/overdue-names-" + std::to_string(getpid());
  {
    std::ofstream out(list);
    for (const std::string& name : names) out << name << '\n';
  }
  std::istringstream lines(output_of("c++filt -p -i <" + list));
  std::filesystem::remove(list);
  std::size_t wrong = 0;
  for (const std::string& name : names) {
    std::string expected;
    ASSERT_TRUE(std::getline(lines, expected));
    if (demangle(name) != expected && ++wrong < 10)
      ADD_FAILURE() << name << ": " << demangle(name) << ", not " << expected;
  }
  EXPECT_GT(names.size(), 1000u);
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace overdue
