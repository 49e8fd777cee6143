#include "base/read_text.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace overdue {
namespace {

namespace fs = std::filesystem;

class ReadText : public testing::Test {
 protected:
  ReadText() {
    std::string pattern = testing::TempDir() + "read_text_XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    std::ofstream(directory_ / "short") << "12345678";
    fs::create_symlink("short", directory_ / "link");
  }
  ~ReadText() override { fs::remove_all(directory_); }

  fs::path directory_;
};

TEST_F(ReadText, RefusesWhatIsNotAShortRegularFile) {
  EXPECT_EQ(read_text(directory_ / "short", 8), "12345678");
  EXPECT_FALSE(read_text(directory_ / "short", 7));
  EXPECT_EQ(errno, EFBIG);
  EXPECT_FALSE(read_text(directory_ / "absent"));
  EXPECT_EQ(errno, ENOENT);
  EXPECT_FALSE(read_text(directory_));
  ASSERT_EQ(::mkfifo((directory_ / "fifo").c_str(), 0600), 0);
  EXPECT_FALSE(read_text(directory_ / "fifo"));
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(ReadText, FollowsLinksUnlessToldNotTo) {
  EXPECT_EQ(read_text(directory_ / "link"), "12345678");
  EXPECT_FALSE(read_text(directory_ / "link", 8, Links::refuse));
}

TEST_F(ReadText, ReadsFilesThatSayTheyAreEmpty) {
  const auto text = read_text("/proc/self/status");
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("Pid:"), std::string::npos);
}

TEST_F(ReadText, AWordIsWithoutItsNewline) {
  std::ofstream(directory_ / "word") << "  two words\n";
  EXPECT_EQ(read_word(directory_ / "word"), "two words");
  EXPECT_EQ(read_word(directory_ / "absent"), "");
  EXPECT_TRUE(has_word("nop function\n", "function"));
  EXPECT_FALSE(has_word("nop function_graph\n", "function"));
}

}  // namespace
}  // namespace overdue
