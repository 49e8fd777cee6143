// A script takes the place of debuginfod-find.
#include "live/debuginfod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace overdue {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class DebuginfodTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "overdue-debuginfod-" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
    path_ = std::getenv("PATH");
    sudo_ = std::getenv("SUDO_UID") ? std::getenv("SUDO_UID") : "";
    setenv("PATH", (folder_ + ":" + path_).c_str(), 1);
    unsetenv("SUDO_UID");  // the invoking user then owns the files
    std::ofstream(folder_ + "/file") << "content";
  }
  void TearDown() override {
    setenv("PATH", path_.c_str(), 1);
    if (!sudo_.empty()) setenv("SUDO_UID", sudo_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }
  /// Makes a debuginfod-find that runs `lines`; asked() lists its calls.
  void program(const std::string& lines) {
    const std::string path = folder_ + "/debuginfod-find";
    std::ofstream(path) << "#!/bin/sh\necho \"$@\" >>" << folder_ << "/asked\n" << lines << "\n";
    chmod(path.c_str(), 0755);
  }
  std::vector<std::string> asked() const {
    std::ifstream file(folder_ + "/asked");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  DebuginfodOptions options() const {
    return {.servers = "http://one  http://two\n", .inherited = InheritedState::current()};
  }

  std::string folder_, path_, sudo_;
};

TEST_F(DebuginfodTest, FindsEachFileOnce) {
  program("[ \"$DEBUGINFOD_URLS\" = 'http://one  http://two' ] && echo " + folder_ + "/file");
  Debuginfod debuginfod(options());
  EXPECT_TRUE(debuginfod.find("abcdef"));
  EXPECT_TRUE(debuginfod.find("abcdef"));
  EXPECT_THAT(asked(), ElementsAre("debuginfo abcdef"));
  EXPECT_THAT(debuginfod.notes(), ElementsAre(HasSubstr("debug files by debuginfod: 1")));
}

TEST_F(DebuginfodTest, WhatNobodyHasIsANote) {
  program("exit 1");
  Debuginfod debuginfod(options());
  EXPECT_FALSE(debuginfod.find("abcdef"));
  EXPECT_FALSE(debuginfod.find("abcdef"));
  EXPECT_FALSE(debuginfod.find("abcde0"));
  EXPECT_THAT(asked(), ElementsAre("debuginfo abcdef", "debuginfo abcde0"));
  EXPECT_THAT(debuginfod.notes(),
              ElementsAre("debug files that debuginfod could not get: 2 (no server has them)"));
}

TEST_F(DebuginfodTest, WhoTakesTooLongIsEnded) {
  program("sleep 1000");
  DebuginfodOptions bounded = options();
  bounded.time_of_file = std::chrono::milliseconds(200);
  bounded.time_of_all = std::chrono::milliseconds(350);
  for (int tries = 0; tries < 20; ++tries) {
    Debuginfod debuginfod(bounded);
    const KernelTime begin = KernelClock::now();
    EXPECT_FALSE(debuginfod.find("abcdef"));
    // On a busy machine, the first request may use up the time of the second.
    if (KernelClock::now() - begin >= bounded.time_of_all) continue;
    EXPECT_FALSE(debuginfod.find("abcde0"));
    EXPECT_FALSE(debuginfod.find("abcde1"));
    EXPECT_LT(KernelClock::now() - begin, std::chrono::seconds(100));
    EXPECT_THAT(asked(), Not(Contains("debuginfo abcde1")));
    const auto notes = debuginfod.notes();
    ASSERT_EQ(notes.size(), 2u);
    EXPECT_THAT(notes[0], HasSubstr("could not get: 2 (it took longer than 200ms)"));
    EXPECT_THAT(notes[1], HasSubstr("were not asked for"));
    return;
  }
  FAIL() << "the first always took longer than both may";
}

TEST_F(DebuginfodTest, OnlyWhatIsTheUsersOwnIsOpened) {
  for (const char* path : {"/dev/null", "relative", "/nowhere/x", "", "/"}) {
    program(std::string("echo ") + path);
    EXPECT_FALSE(Debuginfod(options()).find("abcdef")) << path;
  }
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  program("echo " + folder_ + "/file");
  ASSERT_EQ(chown((folder_ + "/file").c_str(), 12345, 0), 0);
  Debuginfod debuginfod(options());
  EXPECT_FALSE(debuginfod.find("abcdef"));
  EXPECT_THAT(debuginfod.notes(), ElementsAre(HasSubstr("not the invoking user's")));
}

TEST_F(DebuginfodTest, AFileThatIsTooLargeIsNone) {
  program("echo " + folder_ + "/file");
  std::ofstream(folder_ + "/file") << std::string(2000, 'x');
  DebuginfodOptions small = options();
  small.max_bytes = 1999;
  EXPECT_FALSE(Debuginfod(small).find("abcdef"));
  small.max_bytes = 2000;
  EXPECT_TRUE(Debuginfod(small).find("abcdef"));
}

TEST_F(DebuginfodTest, WithoutServersNobodyIsAsked) {
  program("echo " + folder_ + "/file");
  DebuginfodOptions none = options();
  none.servers = " \n";
  Debuginfod debuginfod(none);
  EXPECT_FALSE(debuginfod.find("abcdef"));
  EXPECT_THAT(asked(), IsEmpty());
  EXPECT_THAT(debuginfod.notes(), ElementsAre(HasSubstr("DEBUGINFOD_URLS is not set")));
}

}  // namespace
}  // namespace overdue
