#include "syscalls/names.h"

#include <filesystem>
#include <fstream>
#include <regex>

#include <gtest/gtest.h>

#include "syscalls/names_table.h"

namespace overdue {
namespace {

namespace fs = std::filesystem;

const Names no_names;

struct Header {
  std::uint16_t abi;
  const char* file;
};

TEST(SyscallNames, AgreeWithTheHeadersOfThisMachine) {
  const fs::path folder = "/usr/include/x86_64-linux-gnu/asm";
  if (!fs::exists(folder)) GTEST_SKIP() << "no x86-64 kernel headers here";
  const std::regex define(R"(#define __NR_(\w+) (?:\(__X32_SYSCALL_BIT \+ )?(\d+)\)?)");
  for (const Header& header : {Header{ABI_NATIVE, "unistd_64.h"}, Header{ABI_COMPAT, "unistd_32.h"},
                               Header{ABI_X32, "unistd_x32.h"}}) {
    std::ifstream lines(folder / header.file);
    unsigned seen = 0;
    for (std::string line; std::getline(lines, line);) {
      std::smatch match;
      if (!std::regex_match(line, match, define)) continue;
      const auto nr = static_cast<std::uint32_t>(std::stoul(match[2]));
      EXPECT_EQ(builtin_syscall_name(header.abi, nr), match[1].str()) << header.file << " " << nr;
      EXPECT_EQ(syscall_number(header.abi, match[1].str()), nr) << header.file;
      ++seen;
    }
    EXPECT_GT(seen, 300u) << header.file;
  }
}

TEST(SyscallNames, AreStracesOwn) {
  EXPECT_EQ(syscall_name(ABI_NATIVE, 0, no_names), "read");
  EXPECT_EQ(syscall_name(ABI_NATIVE, 5, no_names), "fstat");
  EXPECT_EQ(syscall_name(ABI_NATIVE, 17, no_names), "pread64");
  EXPECT_EQ(syscall_name(ABI_NATIVE, 40, no_names), "sendfile");
  EXPECT_EQ(syscall_name(ABI_NATIVE, 63, no_names), "uname");
  EXPECT_EQ(syscall_name(ABI_NATIVE, 166, no_names), "umount2");
  EXPECT_EQ(syscall_name(ABI_NATIVE, 262, no_names), "newfstatat");
  EXPECT_EQ(syscall_name(ABI_NATIVE, 469, no_names), "file_setattr");
  EXPECT_EQ(syscall_name(ABI_NATIVE, 471, no_names), "rseq_slice_yield");
}

TEST(SyscallNames, OtherAbisAreLabelled) {
  EXPECT_EQ(syscall_name(ABI_COMPAT, 5, no_names), "i386:open");
  EXPECT_EQ(syscall_name(ABI_COMPAT, 140, no_names), "i386:_llseek");
  EXPECT_EQ(syscall_name(ABI_COMPAT, 451, no_names), "i386:cachestat");
  EXPECT_EQ(syscall_name(ABI_X32, 0, no_names), "x32:read");
  EXPECT_EQ(syscall_name(ABI_X32, 335, no_names), "x32:uretprobe");
  EXPECT_EQ(syscall_name(ABI_X32, 336, no_names), "x32:uprobe");
  EXPECT_EQ(syscall_name(ABI_X32, 514, no_names), "x32:ioctl");
  EXPECT_EQ(syscall_name(7, 1, no_names), "abi7:syscall_1");
}

TEST(SyscallNames, UnknownNumbersComeFromTheKernelThenStayNumbers) {
  Names names;
  names.syscalls[{ABI_NATIVE, 480}] = "frobnicate";
  names.syscalls[{ABI_NATIVE, 0}] = "not_read";
  names.syscalls[{ABI_COMPAT, 481}] = "frob32";
  names.syscalls[{ABI_NATIVE, 482}] = "";
  EXPECT_EQ(syscall_name(ABI_NATIVE, 480, names), "frobnicate");
  EXPECT_EQ(syscall_name(ABI_COMPAT, 481, names), "i386:frob32");
  EXPECT_EQ(syscall_name(ABI_NATIVE, 0, names), "read") << "numbers never change";
  EXPECT_EQ(syscall_name(ABI_NATIVE, 482, names), "syscall_482");
  EXPECT_EQ(syscall_name(ABI_NATIVE, 999, names), "syscall_999");
  EXPECT_EQ(syscall_name(ABI_COMPAT, 4294967295u, names), "i386:syscall_4294967295");
  EXPECT_EQ(syscall_name(ABI_NATIVE, 400, names), "syscall_400") << "a hole in the table";
}

TEST(SyscallNames, UsersMaySayTheNamesTheyKnow) {
  struct Case {
    std::uint16_t abi;
    const char *said, *meant;
  };
  for (const Case& each : {
           Case{ABI_NATIVE, "umount", "umount2"},
           {ABI_NATIVE, "stat64", "stat"},
           {ABI_NATIVE, "fstat64", "fstat"},
           {ABI_NATIVE, "fstatat64", "newfstatat"},
           {ABI_NATIVE, "fstatat", "newfstatat"},
           {ABI_NATIVE, "_newselect", "select"},
           {ABI_NATIVE, "sendfile64", "sendfile"},
           {ABI_NATIVE, "newfstat", "fstat"},
           {ABI_NATIVE, "newuname", "uname"},
           {ABI_NATIVE, "sys_enter_openat", "openat"},
           {ABI_NATIVE, "sys_exit_newstat", "stat"},
           {ABI_NATIVE, "tracepoint:syscalls:sys_enter_umount", "umount2"},
           {ABI_NATIVE, "__x64_sys_openat", "openat"},
           {ABI_NATIVE, "sys_newlstat", "lstat"},
           {ABI_NATIVE, "pread", "pread64"},
           {ABI_NATIVE, "_llseek", "lseek"},
           {ABI_NATIVE, "getuid32", "getuid"},
           {ABI_NATIVE, "mmap2", "mmap"},
           {ABI_NATIVE, "futex_time64", "futex"},
           {ABI_NATIVE, "waitpid", "wait4"},
           {ABI_NATIVE, "fcntl64", "fcntl"},
           {ABI_COMPAT, "umount", "umount"},
           {ABI_COMPAT, "sys_enter_umount", "umount2"},
           {ABI_COMPAT, "stat64", "stat64"},
           {ABI_COMPAT, "__ia32_sys_newuname", "uname"},
           {ABI_COMPAT, "newfstatat", "fstatat64"},
           {ABI_X32, "sys_enter_newfstat", "fstat"},
       }) {
    const auto number = syscall_number(each.abi, each.said);
    ASSERT_TRUE(number) << each.said;
    EXPECT_EQ(builtin_syscall_name(each.abi, *number), each.meant) << each.said;
  }
  for (const char* name : {"", "openta", "sys_", "__x64_sys_", "64", "i386:open", "ni_syscall"})
    EXPECT_FALSE(syscall_number(ABI_NATIVE, name)) << name;
}

TEST(SyscallNames, ListHasEachNameOnce) {
  const auto all = all_syscall_names();
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
  for (const char* name : {"openat", "socketcall", "mseal", "waitpid"})
    EXPECT_TRUE(std::binary_search(all.begin(), all.end(), name)) << name;
}

TEST(SyscallNames, KernelFunctionsBecomeNames) {
  EXPECT_EQ(name_from_kernel_symbol("__x64_sys_openat2"), "openat2");
  EXPECT_EQ(name_from_kernel_symbol("__x64_sys_newfstat"), "fstat");
  EXPECT_EQ(name_from_kernel_symbol("__x64_sys_newstat"), "stat");
  EXPECT_EQ(name_from_kernel_symbol("__x64_sys_newlstat"), "lstat");
  EXPECT_EQ(name_from_kernel_symbol("__x64_sys_newfstatat"), "newfstatat");
  EXPECT_EQ(name_from_kernel_symbol("__x64_sys_newuname"), "uname");
  EXPECT_EQ(name_from_kernel_symbol("__x64_sys_umount"), "umount2");
  EXPECT_EQ(name_from_kernel_symbol("__x64_sys_sendfile64"), "sendfile");
  EXPECT_EQ(name_from_kernel_symbol("__x64_sys_fadvise64"), "fadvise64");
  EXPECT_EQ(name_from_kernel_symbol("__ia32_compat_sys_newstat"), "stat");
  EXPECT_EQ(name_from_kernel_symbol("__ia32_sys_oldumount"), "umount");
  EXPECT_EQ(name_from_kernel_symbol("__ia32_sys_umount"), "umount2");
  EXPECT_EQ(name_from_kernel_symbol("__ia32_sys_getuid16"), "getuid");
  EXPECT_EQ(name_from_kernel_symbol("__ia32_sys_getuid"), "getuid32");
  EXPECT_EQ(name_from_kernel_symbol("__ia32_sys_futex_time32"), "futex");
  EXPECT_EQ(name_from_kernel_symbol("__ia32_sys_mmap_pgoff"), "mmap2");
  EXPECT_EQ(name_from_kernel_symbol("__ia32_compat_sys_x86_fstatat"), "fstatat64");
  EXPECT_EQ(name_from_kernel_symbol("__x32_compat_sys_execve"), "execve");
  EXPECT_EQ(name_from_kernel_symbol("sys_openat2"), "openat2");
  EXPECT_EQ(name_from_kernel_symbol("sys_ni_syscall"), "");
  EXPECT_EQ(name_from_kernel_symbol("__x64_sys_ni_syscall"), "");
  EXPECT_EQ(name_from_kernel_symbol("vfs_read"), "");
  EXPECT_EQ(name_from_kernel_symbol(""), "");
}

/// A tree of empty folders like tracefs' events/syscalls.
class EventsTree : public testing::Test {
 protected:
  EventsTree() {
    char name[] = "/tmp/overdue-events-XXXXXX";
    root_ = mkdtemp(name);
  }
  ~EventsTree() override { fs::remove_all(root_); }
  void add(const std::string& event) {
    fs::create_directory(root_ / ("sys_enter_" + event));
    fs::create_directory(root_ / ("sys_exit_" + event));
  }
  std::string find(std::string_view name) { return find_tracepoint(root_, name).value_or(""); }
  fs::path root_;
};

TEST_F(EventsTree, OfACurrentX86Kernel) {
  for (const char* event : {"newstat", "newfstat", "newlstat", "newuname", "sendfile64", "umount",
                            "openat", "pread64", "newfstatat"})
    add(event);
  EXPECT_EQ(find("stat"), "sys_enter_newstat");
  EXPECT_EQ(find("fstat"), "sys_enter_newfstat");
  EXPECT_EQ(find("lstat"), "sys_enter_newlstat");
  EXPECT_EQ(find("uname"), "sys_enter_newuname");
  EXPECT_EQ(find("sendfile"), "sys_enter_sendfile64");
  EXPECT_EQ(find("umount2"), "sys_enter_umount");
  EXPECT_EQ(find("openat"), "sys_enter_openat");
  EXPECT_EQ(find("pread64"), "sys_enter_pread64");
  EXPECT_EQ(find("newfstatat"), "sys_enter_newfstatat");
  EXPECT_EQ(find("mseal"), "") << "this kernel is too old for it";
}

TEST_F(EventsTree, OfAKernelThatNamesThemLikeTheCalls) {
  for (const char* event : {"stat", "fstat", "uname", "sendfile", "umount2", "pread"}) add(event);
  EXPECT_EQ(find("stat"), "sys_enter_stat");
  EXPECT_EQ(find("uname"), "sys_enter_uname");
  EXPECT_EQ(find("sendfile"), "sys_enter_sendfile");
  EXPECT_EQ(find("umount2"), "sys_enter_umount2");
  EXPECT_EQ(find("pread64"), "sys_enter_pread");
}

TEST_F(EventsTree, OldNameOfAnotherCallDoesNotWin) {
  add("stat");  // the pre-1.0 call, beside the one in common use
  add("newstat");
  EXPECT_EQ(find("stat"), "sys_enter_newstat");
}

TEST_F(EventsTree, Missing) {
  EXPECT_EQ(find("read"), "");
  root_ /= "gone";
  EXPECT_EQ(find("read"), "");
  root_ = root_.parent_path();
}

}  // namespace
}  // namespace overdue
