#include "kernel/tested_kernels.h"

#include <gtest/gtest.h>

namespace overdue {
namespace {

TEST(TestedKernels, AreComparedBySeries) {
  EXPECT_TRUE(is_tested_kernel("6.1.0-49-amd64", false));
  EXPECT_TRUE(is_tested_kernel("6.12.118+deb13-amd64", false));
  EXPECT_TRUE(is_tested_kernel("6.18", false));
  EXPECT_TRUE(is_tested_kernel("7.2.13+deb14-amd64", false));
  EXPECT_FALSE(is_tested_kernel("6.10.3", false));
  EXPECT_FALSE(is_tested_kernel("6.11.0-9-generic", false));
  EXPECT_FALSE(is_tested_kernel("5.10.223", false));
  EXPECT_FALSE(is_tested_kernel("", false));
  EXPECT_FALSE(is_tested_kernel("next", false));
}

TEST(TestedKernels, WithPreemptRtAreAListOfTheirOwn) {
  EXPECT_TRUE(is_tested_kernel("6.1.0-49-rt-amd64", true));
  EXPECT_FALSE(is_tested_kernel("6.12.118+deb13-rt-amd64", true));
  EXPECT_FALSE(is_tested_kernel("6.18.44", true));
}

}  // namespace
}  // namespace overdue
