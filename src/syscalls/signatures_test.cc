#include "syscalls/signatures.h"

#include <algorithm>
#include <bit>

#include <gtest/gtest.h>

#include "syscalls/names.h"
#include "syscalls/names_table.h"

namespace overdue {
namespace {

const Signature* signature(std::uint16_t abi, std::string_view name) {
  return find_signature(abi, syscall_number(abi, name).value());
}

unsigned mask(std::uint16_t abi, std::string_view name) {
  return text_argument_mask(abi, syscall_number(abi, name).value());
}

TEST(Signatures, EveryNativeCallHasItsOwn) {
  for (const std::uint16_t abi : {ABI_NATIVE, ABI_X32}) {
    const auto names = builtin_names(abi);
    for (std::uint32_t nr = 0; nr < names.size(); ++nr) {
      const Signature* found = find_signature(abi, nr);
      if (names[nr].empty()) {
        EXPECT_EQ(found, nullptr) << nr;
      } else {
        ASSERT_NE(found, nullptr) << names[nr];
        EXPECT_EQ(found->name, names[nr]);
      }
    }
  }
}

TEST(Signatures, EveryLivingI386CallHasOne) {
  // Never implemented, or gone before x86-64 was made.
  const std::string_view dead[] = {"break", "stty",   "gtty",   "ftime", "prof",   "lock",
                                   "mpx",   "ulimit", "profil", "idle",  "bdflush"};
  const auto names = builtin_names(ABI_COMPAT);
  for (std::uint32_t nr = 0; nr < names.size(); ++nr)
    if (!names[nr].empty() &&
        std::find(std::begin(dead), std::end(dead), names[nr]) == std::end(dead)) {
      EXPECT_NE(find_signature(ABI_COMPAT, nr), nullptr) << names[nr];
    }
}

TEST(Signatures, AreWellFormed) {
  for (std::uint16_t abi = 0; abi < ABI_COUNT; ++abi)
    for (std::uint32_t nr = 0; nr < 1024; ++nr)
      if (const Signature* each = find_signature(abi, nr)) {
        for (unsigned i = 0; i < SYSCALL_ARGUMENTS; ++i) {
          const Argument& argument = each->arguments[i];
          EXPECT_EQ(argument.name.empty(), i >= each->argument_count()) << each->name;
          EXPECT_EQ(argument.values != nullptr, argument.kind == ArgumentKind::symbols)
              << each->name;
        }
        EXPECT_LE(std::popcount(text_argument_mask(abi, nr)), SYSCALL_TEXTS) << each->name;
      }
  EXPECT_EQ(find_signature(ABI_NATIVE, 999), nullptr);
  EXPECT_EQ(find_signature(3, 0), nullptr);
  EXPECT_EQ(find_signature(ABI_NATIVE, UINT32_MAX), nullptr);
}

TEST(Signatures, I386CallsWithOtherRegisters) {
  EXPECT_EQ(signature(ABI_COMPAT, "pread64")->argument_count(), 5u);
  EXPECT_EQ(signature(ABI_NATIVE, "pread64")->argument_count(), 4u);
  EXPECT_EQ(signature(ABI_COMPAT, "_newselect")->argument_count(), 5u);
  EXPECT_EQ(signature(ABI_COMPAT, "select")->argument_count(), 1u);
  EXPECT_EQ(signature(ABI_COMPAT, "clone")->arguments[3].name, "tls");
  EXPECT_EQ(signature(ABI_NATIVE, "clone")->arguments[4].name, "tls");
  EXPECT_EQ(signature(ABI_COMPAT, "stat64")->name, "stat");
  EXPECT_EQ(signature(ABI_COMPAT, "futex_time64")->name, "futex");
}

constexpr struct {
  const char* name;
  unsigned mask;
} text_arguments[] = {
    {"open", 0b1},
    {"openat", 0b10},
    {"openat2", 0b10},
    {"execve", 0b1},
    {"execveat", 0b10},
    {"stat", 0b1},
    {"lstat", 0b1},
    {"newfstatat", 0b10},
    {"statx", 0b10},
    {"unlink", 0b1},
    {"unlinkat", 0b10},
    {"rename", 0b11},
    {"renameat2", 0b1010},
    {"link", 0b11},
    {"linkat", 0b1010},
    {"symlink", 0b11},
    {"symlinkat", 0b101},
    {"mkdir", 0b1},
    {"mkdirat", 0b10},
    {"rmdir", 0b1},
    {"chdir", 0b1},
    {"chroot", 0b1},
    {"readlink", 0b1},
    {"readlinkat", 0b10},
    {"access", 0b1},
    {"faccessat", 0b10},
    {"faccessat2", 0b10},
    {"chmod", 0b1},
    {"fchmodat2", 0b10},
    {"chown", 0b1},
    {"lchown", 0b1},
    {"fchownat", 0b10},
    {"truncate", 0b1},
    {"statfs", 0b1},
    {"utimensat", 0b10},
    {"utimes", 0b1},
    {"mount", 0b11},
    {"umount2", 0b1},
    {"setxattr", 0b11},
    {"fgetxattr", 0b10},
    {"getxattrat", 0b1010},
    {"mknod", 0b1},
    {"mknodat", 0b10},
    {"swapon", 0b1},
    {"acct", 0b1},
    {"pivot_root", 0b11},
    {"memfd_create", 0b1},
    {"inotify_add_watch", 0b10},
    {"fanotify_mark", 0b10000},
    {"move_mount", 0b1010},
    {"fsopen", 0b1},
    {"open_tree", 0b10},
    {"name_to_handle_at", 0b10},
    {"mq_open", 0b1},
    {"add_key", 0b11},
    {"file_getattr", 0b10},
    {"quotactl", 0b10},
    {"creat", 0b1},
    {"uselib", 0b1},
    {"read", 0},
    {"write", 0},
    {"bpf", 0},
    {"getcwd", 0},
    {"fchdir", 0},
    {"sethostname", 0},
    {"listmount", 0},
};

TEST(TextArguments, AreTheInputStrings) {
  for (const auto& [name, expected] : text_arguments) {
    EXPECT_EQ(mask(ABI_NATIVE, name), expected) << name;
    if (syscall_number(ABI_X32, name)) {
      EXPECT_EQ(mask(ABI_X32, name), expected) << name;
    }
  }
  EXPECT_EQ(mask(ABI_COMPAT, "openat"), 0b10u);
  EXPECT_EQ(mask(ABI_COMPAT, "stat64"), 0b1u);
  EXPECT_EQ(mask(ABI_COMPAT, "oldstat"), 0b1u);
  EXPECT_EQ(mask(ABI_COMPAT, "umount"), 0b1u);
  EXPECT_EQ(mask(ABI_COMPAT, "fanotify_mark"), 0b100000u) << "behind a mask in two registers";
  EXPECT_EQ(text_argument_mask(ABI_NATIVE, 999), 0);
}

}  // namespace
}  // namespace overdue
