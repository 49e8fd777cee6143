// The classes of -e against the classes of this machine's strace.
#include <cstdio>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernel/child_fixture.h"
#include "syscalls/classes.h"
#include "syscalls/names.h"

namespace overdue {
namespace {

using NameSet = std::set<std::string>;

/// The names that strace prints while it traces `filter` and the census makes every call of an ABI.
NameSet traced(const std::string& filter, const std::string& abi) {
  const std::string command = fmt::format("strace -qq -e signal=none -e 'trace={}' '{}' {} 2>&1",
                                          filter, SYSCALL_CENSUS, abi);
  NameSet names;
  FILE* output = popen(command.c_str(), "r");
  char line[4096];
  while (output && fgets(line, sizeof line, output)) {
    const std::string text = line;
    const auto end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_");
    const std::string name = text.substr(0, end);
    // Numbers without a name are in every class of strace, and in none here.
    if (end != std::string::npos && text[end] == '(' && !name.starts_with("syscall_0x"))
      names.insert(name);
  }
  if (output) pclose(output);
  return names;
}

NameSet ours(const std::string& filter, std::uint16_t abi, const NameSet& among) {
  NameSet names;
  const std::string lists[] = {filter};
  const SyscallSet set = parse_syscall_set(lists, {});
  for (const std::string& name : among)
    if (const auto nr = syscall_number(abi, name); nr && set[abi].test(*nr)) names.insert(name);
  return names;
}

struct AbiOfStrace {
  std::uint16_t abi;
  const char* name;
};

class Classes : public testing::TestWithParam<AbiOfStrace> {};

TEST_P(Classes, AreStraces) {
  const auto [abi, abi_name] = GetParam();
  if (abi == ABI_COMPAT && !has_32_bit_entry())
    GTEST_SKIP() << "this kernel has no entry for 32-bit calls";
  NameSet every = traced("all", abi_name);
  if (!every.contains("execve")) GTEST_SKIP() << "no strace here, or it may not trace";
  // Only calls below SYSCALL_TABLE_SIZE that this ABI has: the census makes native ones as it
  // starts.
  std::erase_if(every, [&](const std::string& name) {
    const auto nr = syscall_number(abi, name);
    return !nr || *nr >= SYSCALL_TABLE_SIZE || builtin_syscall_name(abi, *nr) != name;
  });
  ASSERT_GT(every.size(), 300u);
  for (const char* filter : {"%file", "%desc", "%network", "%process", "%memory", "%signal", "%ipc",
                             "%stat", "%lstat", "%fstat", "%statfs", "%fstatfs", "%%stat",
                             "%%statfs", "%creds", "%clock", "%pure", "!%file", "openat,%ipc"}) {
    NameSet theirs = traced(filter, abi_name);
    std::erase_if(theirs, [&](const std::string& name) { return !every.contains(name); });
    NameSet mine = ours(filter, abi, every);
    if (filter == std::string("%network"))
      mine.erase("socketcall");  // strace decodes the call inside
    EXPECT_EQ(mine, theirs) << abi_name << " " << filter;
  }
}

INSTANTIATE_TEST_SUITE_P(OfEveryAbi, Classes,
                         testing::Values(AbiOfStrace{ABI_NATIVE, "native"},
                                         AbiOfStrace{ABI_COMPAT, "i386"},
                                         AbiOfStrace{ABI_X32, "x32"}),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace overdue
