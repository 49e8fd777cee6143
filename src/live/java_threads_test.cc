#include "live/java_threads.h"

#include <gtest/gtest.h>

namespace overdue {
namespace {

TEST(JavaThreads, TheIdInTheOwnNamespaceIsTheLast) {
  EXPECT_EQ(id_in_namespace("Name:\tx\nNSpid:\t4711\t12\t3\nNSpgid:\t1\n"), 3u);
  EXPECT_EQ(id_in_namespace("Name:\tx\nNSpid:\t4711\n"), 4711u);
  EXPECT_FALSE(id_in_namespace("Name:\tNSpid:\t5\n"));  // hostile text
  EXPECT_FALSE(id_in_namespace("Name:\tx\nNSpid:\t\n"));
}

}  // namespace
}  // namespace overdue
