#include "base/thread_rights.h"

#include <gtest/gtest.h>

namespace overdue {
namespace {

bool is_read_override_in_force() {
  return (ThreadRights::current().effective & read_override) != 0;
}

/// Restores the rights that a test changes.
class ReadRightsTest : public testing::Test {
 protected:
  void SetUp() override {
    if ((before_.permitted & read_override) == 0) GTEST_SKIP() << "needs CAP_DAC_READ_SEARCH";
    ThreadRights held_back = before_;
    held_back.effective &= ~file_overrides;
    held_back.apply();
  }
  void TearDown() override { before_.apply(); }

  const ThreadRights before_ = ThreadRights::current();
};

TEST_F(ReadRightsTest, AreInForceWhileOneLives) {
  EXPECT_FALSE(is_read_override_in_force());
  {
    const ReadRights outer;
    EXPECT_TRUE(is_read_override_in_force());
    {
      const ReadRights inner;
      EXPECT_TRUE(is_read_override_in_force());
    }
    EXPECT_TRUE(is_read_override_in_force());
  }
  EXPECT_FALSE(is_read_override_in_force());
}

TEST_F(ReadRightsTest, BringNothingElse) {
  const std::uint64_t before = ThreadRights::current().effective;
  const ReadRights rights;
  EXPECT_EQ(ThreadRights::current().effective, before | read_override);
}

TEST(ThreadRights, OnlyKeepsNoMoreThanThereWas) {
  const ThreadRights rights{.effective = 0, .permitted = 0b0110};
  EXPECT_EQ(rights.only(0b0011).effective, 0b0010u);
  EXPECT_EQ(rights.only(0b0011).permitted, 0b0010u);
}

}  // namespace
}  // namespace overdue
