#include "target/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace overdue {
namespace {

using testing::HasSubstr;

class OutputFile : public testing::Test {
 protected:
  OutputFile() {
    std::string pattern = testing::TempDir() + "output_file_XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    ::unsetenv("SUDO_UID");
    ::unsetenv("SUDO_GID");
  }
  ~OutputFile() override {
    for (const char* name : {"shared/x", "shared/y", "shared", "x", "y", "link", "fifo"})
      ::remove((directory_ + "/" + name).c_str());
    ::rmdir(directory_.c_str());
    ::unsetenv("SUDO_UID");
    ::unsetenv("SUDO_GID");
  }
  std::string in(const std::string& name) const { return directory_ + "/" + name; }
  void make_shared() const {
    ASSERT_EQ(::mkdir(in("shared").c_str(), 0700), 0);
    ASSERT_EQ(::chmod(in("shared").c_str(), 01777), 0);
  }
  static void write_text(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }
  static std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::string message_of(const std::string& path) {
    try {
      create_output_file(path);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  static struct stat status_of(const std::string& path) {
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status;
  }
  static bool put(const Fd& file, std::string_view text) {
    return ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }

  std::string directory_;
};

TEST_F(OutputFile, NewFileIsPrivate) {
  EXPECT_TRUE(put(create_output_file(in("x")), "hello"));
  EXPECT_EQ(text_of(in("x")), "hello");
  EXPECT_EQ(status_of(in("x")).st_mode & 07777, 0600U);
}

TEST_F(OutputFile, ANewFileReplacesNone) {
  EXPECT_TRUE(put(create_new_output_file(in("x")), "first"));
  EXPECT_EQ(status_of(in("x")).st_mode & 07777, 0600U);
  EXPECT_THROW(create_new_output_file(in("x")), Error);
  EXPECT_EQ(text_of(in("x")), "first");
  ASSERT_EQ(::symlink(in("y").c_str(), in("link").c_str()), 0);
  EXPECT_TRUE(put(create_new_output_file(in("link")), "through a link of the caller's"));
  EXPECT_THROW(create_new_output_file(in("link")), Error);
  EXPECT_THROW(create_new_output_file(directory_), Error);
}

TEST_F(OutputFile, ExistingFileIsEmptiedAndKeepsItsMode) {
  write_text(in("x"), "a longer text");
  ASSERT_EQ(::chmod(in("x").c_str(), 0640), 0);
  EXPECT_TRUE(put(create_output_file(in("x")), "short"));
  EXPECT_EQ(text_of(in("x")), "short");
  EXPECT_EQ(status_of(in("x")).st_mode & 07777, 0640U);
}

TEST_F(OutputFile, OnesOwnLinkIsFollowedWithOnesOwnRights) {
  write_text(in("x"), "old");
  ASSERT_EQ(::symlink("x", in("link").c_str()), 0);
  EXPECT_TRUE(put(create_output_file(in("link")), "new"));
  EXPECT_EQ(text_of(in("x")), "new");
  ::unlink(in("x").c_str());
  EXPECT_TRUE(put(create_output_file(in("link")), "made through the link"));
  EXPECT_EQ(text_of(in("x")), "made through the link");
}

TEST_F(OutputFile, LinkLoopEnds) {
  ASSERT_EQ(::symlink("link", in("link").c_str()), 0);
  EXPECT_THAT(message_of(in("link")), HasSubstr("symbolic links"));
}

TEST_F(OutputFile, LinkInASharedDirectoryIsNeverFollowed) {
  make_shared();
  write_text(in("x"), "precious");
  ASSERT_EQ(::symlink("../x", in("shared/x").c_str()), 0);
  EXPECT_THAT(message_of(in("shared/x")),
              HasSubstr("x is a symbolic link in a directory that others can write to"));
  EXPECT_EQ(text_of(in("x")), "precious");
  // The same holds for a link further up the path, and behind a link of one's own.
  ASSERT_EQ(::symlink("..", in("shared/y").c_str()), 0);
  EXPECT_THAT(message_of(in("shared/y/x")), HasSubstr("y is a symbolic link"));
  ASSERT_EQ(::symlink("shared/x", in("link").c_str()), 0);
  EXPECT_THAT(message_of(in("link")), HasSubstr("x is a symbolic link"));
  EXPECT_EQ(text_of(in("x")), "precious");
}

TEST_F(OutputFile, OwnFileInASharedDirectoryIsOverwritten) {
  make_shared();
  write_text(in("shared/x"), "old");
  EXPECT_TRUE(put(create_output_file(in("shared/x")), "new"));
  EXPECT_EQ(text_of(in("shared/x")), "new");
}

TEST_F(OutputFile, PlantedFilesInASharedDirectoryAreRefused) {
  make_shared();
  write_text(in("x"), "precious");
  ASSERT_EQ(::link(in("x").c_str(), in("shared/x").c_str()), 0);
  EXPECT_THAT(message_of(in("shared/x")), HasSubstr("second name"));
  EXPECT_EQ(text_of(in("x")), "precious");
  if (::geteuid() != 0) GTEST_SKIP() << "giving a file away needs root";
  write_text(in("shared/y"), "theirs");
  ASSERT_EQ(::chown(in("shared/y").c_str(), 12345, 12345), 0);
  EXPECT_THAT(message_of(in("shared/y")), HasSubstr("belongs to another user"));
  EXPECT_EQ(text_of(in("shared/y")), "theirs");
}

/// Root through sudo: files are opened as the user who called sudo.
class OutputFileOfSudo : public OutputFile {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "acting as another user needs root";
    ::setenv("SUDO_UID", "12345", 1);
    ::setenv("SUDO_GID", "23456", 1);
    ASSERT_EQ(::chmod(directory_.c_str(), 0755), 0);
    ASSERT_EQ(::mkdir(in("theirs").c_str(), 0700), 0);
    ASSERT_EQ(::chown(in("theirs").c_str(), 12345, 23456), 0);
  }
  void TearDown() override {
    for (const char* name : {"theirs/x", "theirs/link", "theirs", "precious", "new"})
      ::remove(in(name).c_str());
  }
};

TEST_F(OutputFileOfSudo, IsTheirs) {
  create_output_file(in("theirs/x"));
  EXPECT_EQ(status_of(in("theirs/x")).st_uid, 12345U);
  EXPECT_EQ(status_of(in("theirs/x")).st_gid, 23456U);
  EXPECT_TRUE(put(create_output_file(in("theirs/x")), "again"));
  EXPECT_EQ(text_of(in("theirs/x")), "again");
}

TEST_F(OutputFileOfSudo, TheirLinkReachesOnlyWhatTheyMayWriteTo) {
  write_text(in("precious"), "precious");
  ASSERT_EQ(::chmod(in("precious").c_str(), 0644), 0);
  ASSERT_EQ(::symlink("../precious", in("theirs/link").c_str()), 0);
  EXPECT_THAT(message_of(in("theirs/link")), HasSubstr("permission denied to user 12345"));
  EXPECT_EQ(text_of(in("precious")), "precious");
  ASSERT_EQ(::unlink(in("theirs/link").c_str()), 0);
  ASSERT_EQ(::symlink("../new", in("theirs/link").c_str()), 0);
  EXPECT_THAT(message_of(in("theirs/link")), HasSubstr("permission denied"));
  EXPECT_NE(::access(in("new").c_str(), F_OK), 0);
}

TEST_F(OutputFileOfSudo, HasTheirGroupsAndNotRoots) {
  write_text(in("precious"), "root's group may write");
  ASSERT_EQ(::chmod(in("precious").c_str(), 0664), 0);
  EXPECT_THAT(message_of(in("precious")), HasSubstr("permission denied"));
  ASSERT_EQ(::chown(in("precious").c_str(), 0, 23456), 0);
  EXPECT_TRUE(put(create_output_file(in("precious")), "theirs may"));
  EXPECT_EQ(text_of(in("precious")), "theirs may");
}

TEST_F(OutputFileOfSudo, RightsAreBackAfterwards) {
  message_of("/proc/overdue");
  create_output_file(in("theirs/x"));
  write_text(in("new"), "root's again");
  EXPECT_EQ(status_of(in("new")).st_uid, 0U);
}

TEST_F(OutputFileOfSudo, WhoIsNotKnownIsNotTakenForRoot) {
  ::setenv("SUDO_UID", "nobody at all", 1);
  EXPECT_THAT(message_of(in("new")), HasSubstr("cannot tell who called sudo"));
  EXPECT_NE(::access(in("new").c_str(), F_OK), 0);
}

TEST_F(OutputFile, SaysWhatIsWrong) {
  EXPECT_THAT(message_of(directory_), HasSubstr("it is a directory"));
  EXPECT_THAT(message_of(directory_ + "/"), HasSubstr("it is a directory"));
  EXPECT_THAT(message_of("/"), HasSubstr("it is a directory"));
  EXPECT_THAT(message_of(in("new/")), HasSubstr("there is no directory new"));
  EXPECT_THAT(message_of(in("missing/x")), HasSubstr("there is no directory missing"));
  write_text(in("x"), "");
  EXPECT_THAT(message_of(in("x/y")), HasSubstr("x is not a directory"));
  EXPECT_THAT(message_of(in(std::string(300, 'n'))), HasSubstr("name too long"));
  EXPECT_THAT(message_of("/proc/overdue"), testing::Not(testing::IsEmpty()));
  EXPECT_THAT(message_of("/dev/fd/987"), HasSubstr("Bad file descriptor"));
  EXPECT_THAT(message_of(""), HasSubstr("empty"));
  EXPECT_THAT(message_of(std::string("a\0b", 3)), HasSubstr("NUL"));
}

TEST_F(OutputFile, DevicesAndFifosAreWrittenAsTheyAre) {
  EXPECT_TRUE(put(create_output_file("/dev/null"), "x"));
  const Fd full = create_output_file("/dev/full");
  EXPECT_FALSE(put(full, "x"));
  EXPECT_TRUE(create_output_file("/dev/stdout"));
  EXPECT_NE(create_output_file("/dev/stderr").get(), 2);
  ASSERT_EQ(::mkfifo(in("fifo").c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = text_of(in("fifo")); });
  EXPECT_TRUE(put(create_output_file(in("fifo")), "through"));
  reader.join();
  EXPECT_EQ(read, "through");
}

}  // namespace
}  // namespace overdue
