#include "report/why/remarks.h"

#include <gtest/gtest.h>

namespace overdue::remarks_test {
namespace {

TEST(Remarks, AreKeptByKind) {
  SessionInfo info;
  keep_remarks(of_limit, {{.id = 7, .words = "12 of 12\n"}}, info);
  keep_remarks("other", {{.id = 8, .words = "late"}}, info);
  const auto limits = kept_remarks(of_limit, info);
  ASSERT_EQ(limits.size(), 1u);
  EXPECT_EQ(limits[0].id, 7u);
  EXPECT_EQ(limits[0].words, "12 of 12\\n");
  ASSERT_EQ(kept_remarks("other", info).size(), 1u);
}

TEST(Remarks, OfADamagedRecordingAreFewer) {
  SessionInfo info;
  EXPECT_TRUE(kept_remarks(of_limit, info).empty());
  info.options["limits"] = "3";
  info.options["limit_1_of"] = "x";
  info.options["limit_1_words"] = "\x1b[2J";
  const auto limits = kept_remarks(of_limit, info);
  ASSERT_EQ(limits.size(), 1u);
  EXPECT_EQ(limits[0].words, "\\x1b[2J");
}

}  // namespace
}  // namespace overdue::remarks_test
