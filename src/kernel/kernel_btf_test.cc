#include "kernel/kernel_btf.h"

#include <bpf/btf.h>
#include <gtest/gtest.h>

namespace overdue {
namespace {

TEST(KernelBtf, IsSharedWithLibbpfWhichCannotFreeIt) {
  const auto types = kernel_btf();
  if (!types) GTEST_SKIP() << "this kernel has no BTF";
  btf* const theirs = btf__load_vmlinux_btf();
  EXPECT_EQ(theirs, types.get());
  btf__free(theirs);
  EXPECT_GT(btf__find_by_name_kind(types.get(), "task_struct", BTF_KIND_STRUCT), 0);
}

}  // namespace
}  // namespace overdue
