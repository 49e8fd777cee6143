#include "syscalls/classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "syscalls/classes_table.h"
#include "syscalls/names.h"

namespace overdue {
namespace {

using testing::HasSubstr;
using Lists = std::vector<std::string>;

std::uint32_t number(std::uint16_t abi, std::string_view name) {
  return syscall_number(abi, name).value();
}

std::size_t size(const SyscallSet& set) {
  std::size_t count = 0;
  for (const auto& numbers : set) count += numbers.count();
  return count;
}

bool has(const SyscallSet& set, std::string_view name, std::uint16_t abi = ABI_NATIVE) {
  return set[abi].test(number(abi, name));
}

SyscallSet parse(const Lists& lists, const Names& names = {}) {
  return parse_syscall_set(lists, names);
}

struct Failure {
  std::string message, hint;
  int exit_status = 0;
};

Failure failure(const Lists& lists) {
  try {
    parse(lists);
  } catch (const Error& error) {
    return {error.what(), error.hint(), error.exit_status()};
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(SyscallSets, NameMeansTheCallOnEveryAbi) {
  const SyscallSet set = parse({"openat"});
  EXPECT_EQ(size(set), 3u);
  for (std::uint16_t abi = 0; abi < ABI_COUNT; ++abi) EXPECT_TRUE(has(set, "openat", abi));
}

TEST(SyscallSets, LabelledNameMeansOneAbi) {
  const SyscallSet set = parse({"i386:open,x32:read"});
  EXPECT_EQ(size(set), 2u);
  EXPECT_TRUE(has(set, "open", ABI_COMPAT));
  EXPECT_TRUE(has(set, "read", ABI_X32));
}

TEST(SyscallSets, AliasesAreNames) {
  EXPECT_EQ(parse({"sys_enter_newfstat"}), parse({"fstat"}));
  EXPECT_TRUE(has(parse({"umount"}), "umount2"));
  EXPECT_TRUE(has(parse({"umount"}), "umount", ABI_COMPAT));
}

TEST(SyscallSets, NumbersAreNative) {
  EXPECT_EQ(size(parse({"257"})), 1u);
  EXPECT_TRUE(has(parse({"257"}), "openat"));
  EXPECT_TRUE(parse({"syscall_480"})[ABI_NATIVE].test(480));
  EXPECT_TRUE(has(parse({"i386:5"}), "open", ABI_COMPAT));
}

TEST(SyscallSets, CommasAndRepetitionAddUp) {
  EXPECT_EQ(parse({"read,write", "close"}), parse({"read,write,close"}));
  EXPECT_EQ(parse({"trace=read,,write,"}), parse({"write,read"}));
}

TEST(SyscallSets, Globs) {
  const SyscallSet at = parse({"*at"});
  for (const char* name : {"openat", "unlinkat", "newfstatat", "stat"})
    EXPECT_TRUE(has(at, name)) << name;
  EXPECT_FALSE(has(at, "openat2"));
  const SyscallSet epoll = parse({"epoll_[cw]*"});
  for (const char* name : {"epoll_create1", "epoll_ctl", "epoll_wait"})
    EXPECT_TRUE(has(epoll, name)) << name;
  EXPECT_FALSE(has(epoll, "epoll_pwait"));
  EXPECT_TRUE(parse({"i386:*"})[ABI_NATIVE].none());
  EXPECT_THAT(failure({"zz*"}).message, HasSubstr("no system call matches 'zz*'"));
}

TEST(SyscallSets, ExclamationMarkTakesAway) {
  const SyscallSet all = parse({"all"});
  const SyscallSet without_futex = parse({"!futex"});
  EXPECT_FALSE(has(without_futex, "futex"));
  EXPECT_EQ(size(without_futex), size(all) - 3);
  EXPECT_TRUE(without_futex[ABI_NATIVE].test(480)) << "unknown calls are not futex";
  const SyscallSet some = parse({"%file,!openat"});
  EXPECT_TRUE(has(some, "unlink"));
  EXPECT_FALSE(has(some, "openat"));
  EXPECT_EQ(parse({"!openat", "%file"}), some) << "the order does not matter";
  EXPECT_FALSE(has(parse({"!%memory"}), "mmap"));
}

TEST(SyscallSets, LeadingMarkNegatesItsWholeListAsInStrace) {
  const SyscallSet set = parse({"!futex,poll"});
  EXPECT_FALSE(has(set, "futex"));
  EXPECT_FALSE(has(set, "poll"));
  EXPECT_TRUE(has(set, "read"));
  EXPECT_EQ(set, parse({"trace=!futex,!poll"}));
  EXPECT_EQ(set, parse({"!,futex,poll"}));
  EXPECT_EQ(set, parse({"!futex", "!poll"}));
}

TEST(SyscallSets, CallsOfTheMeasuredKernelOnly) {
  Names names;
  names.syscalls[{ABI_NATIVE, 480}] = "frobnicate";
  EXPECT_TRUE(parse({"frobnicate"}, names)[ABI_NATIVE].test(480));
  EXPECT_TRUE(parse({"frob*"}, names)[ABI_NATIVE].test(480));
  EXPECT_THAT(failure({"frobnicate"}).message, HasSubstr("unknown system call"));
}

TEST(SyscallSets, ErrorsSuggest) {
  const Failure unknown = failure({"read,openta"});
  EXPECT_EQ(unknown.message, "unknown system call 'openta'");
  EXPECT_EQ(unknown.hint, "did you mean 'openat'?");
  EXPECT_EQ(unknown.exit_status, 2);
  EXPECT_EQ(failure({"%fil"}).hint, "did you mean '%file'?");
  EXPECT_EQ(failure({"%fil"}).exit_status, 2);
  EXPECT_EQ(failure({"network"}).hint, "did you mean '%network'?");
  EXPECT_THAT(failure({"%xyzzy"}).hint, HasSubstr("%file"));
  EXPECT_FALSE(failure({"qqqqqqqqqqqqqqqqqq"}).hint.empty());
  EXPECT_EQ(size(parse({"read,?openta"})), 3u) << "as in strace: no error for ?name";
}

TEST(SyscallSets, NothingLeftIsAnError) {
  for (const Lists& lists :
       {Lists{""}, Lists{","}, Lists{"!"}, Lists{"read,!read"}, Lists{"?openta"}, Lists{"!all"}}) {
    const Failure empty = failure(lists);
    EXPECT_EQ(empty.exit_status, 2) << lists[0];
    EXPECT_FALSE(empty.message.empty());
  }
  EXPECT_THAT(failure({"x32:ioctl"}).message, HasSubstr("512"));
}

TEST(SyscallSets, HostileInputIsPrintable) {
  EXPECT_EQ(failure({"\x1b[2J"}).message, "no system call matches '\\x1b[2J'");
  EXPECT_EQ(failure({"a\nb"}).message, "unknown system call 'a\\nb'");
  EXPECT_EQ(failure({"%\x1b"}).message, "unknown class of system calls '%\\x1b'");
  EXPECT_FALSE(failure({std::string(100000, 'x')}).message.empty());
}

TEST(SyscallClasses, HoldWhatTheirNamesSay) {
  const struct {
    const char *set, *in, *out;
  } cases[] = {
      {"%file", "openat", "read"},        {"%desc", "read", "getpid"},
      {"%network", "connect", "read"},    {"%process", "execve", "getpid"},
      {"%memory", "mmap", "read"},        {"%signal", "rt_sigaction", "read"},
      {"%ipc", "semop", "pipe2"},         {"%stat", "stat", "lstat"},
      {"%lstat", "lstat", "stat"},        {"%fstat", "fstat", "stat"},
      {"%%stat", "newfstatat", "statfs"}, {"%statfs", "statfs", "fstatfs"},
      {"%fstatfs", "fstatfs", "statfs"},  {"%%statfs", "fstatfs", "stat"},
      {"%creds", "setuid", "getpid"},     {"%clock", "clock_gettime", "nanosleep"},
      {"%pure", "getpid", "getcwd"},      {"%file", "setxattrat", "fsetxattr"},
      {"%memory", "mseal", "cachestat"},  {"%desc", "cachestat", "mseal"},
  };
  for (const auto& [set, in, out] : cases) {
    EXPECT_TRUE(has(parse({set}), in)) << set << " " << in;
    EXPECT_FALSE(has(parse({set}), out)) << set << " " << out;
  }
  EXPECT_TRUE(has(parse({"%network"}), "socketcall", ABI_COMPAT));
}

TEST(SyscallClasses, ListOnlyCallsThatExist) {
  for (const SyscallClass& each : syscall_classes())
    for (const std::string_view call : each.calls) {
      bool known = false;
      for (std::uint16_t abi = 0; abi < ABI_COUNT; ++abi) {
        const auto nr = syscall_number(abi, call);
        known |= nr && builtin_syscall_name(abi, *nr) == call;
      }
      EXPECT_TRUE(known) << each.name << " " << call;
    }
}

TEST(SyscallClasses, AreNamedOrOnlyTakenAway) {
  const auto named = [](std::vector<std::string> lists) { return names_calls(lists); };
  EXPECT_TRUE(named({"futex"}));
  EXPECT_TRUE(named({"!futex", "trace=%file"}));
  EXPECT_TRUE(named({"!x,y", "!z,read", "poll,!x"}));
  EXPECT_FALSE(named({}));
  EXPECT_FALSE(named({"!futex,poll", "trace=!read"}));
}

}  // namespace
}  // namespace overdue
