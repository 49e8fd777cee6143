#include "syscalls/errno_names.h"

#include <cstring>

#include <gtest/gtest.h>

namespace overdue {
namespace {

TEST(ErrnoNames, AgreeWithTheCLibrary) {
  for (int code = 1; code < 200; ++code)
    if (const char* name = strerrorname_np(code)) {
      if (code == ENOTSUP) name = "EOPNOTSUPP";  // one number, and the kernel's name for it
      EXPECT_EQ(errno_name(code), name);
    }
}

TEST(ErrnoNames, OfInterruptedCalls) {
  EXPECT_EQ(errno_name(512), "ERESTARTSYS");
  EXPECT_EQ(errno_name(513), "ERESTARTNOINTR");
  EXPECT_EQ(errno_name(514), "ERESTARTNOHAND");
  EXPECT_EQ(errno_name(516), "ERESTART_RESTARTBLOCK");
  EXPECT_EQ(errno_name(530), "ERECALLCONFLICT");
}

TEST(ErrnoNames, OfNothing) {
  EXPECT_EQ(errno_name(41), "errno_41");
  EXPECT_EQ(errno_name(520), "errno_520");
  EXPECT_EQ(errno_name(4095), "errno_4095");
  EXPECT_EQ(errno_name(0), "errno_0");
  EXPECT_EQ(errno_name(-2), "errno_-2");
}

}  // namespace
}  // namespace overdue
