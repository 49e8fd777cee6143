#include "symbols/perf_map.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "symbols/test_support.h"

namespace overdue {
namespace {

std::string at(const PerfMap& map, std::uint64_t address) {
  const auto found = map.find(address);
  return found ? std::string(found->name) + "+" + std::to_string(found->offset) : "";
}

TEST(PerfMap, ReadsLines) {
  const auto map = PerfMap::parse(
      "7f0000001000 100 LazyCompile:~main /srv/app.js:1\n0x7f0000002000 0x20 with prefix\r\n");
  EXPECT_EQ(at(map, 0x7f0000001010), "LazyCompile:~main /srv/app.js:1+16");
  EXPECT_EQ(at(map, 0x7f0000002000), "with prefix+0");
  EXPECT_EQ(at(map, 0x7f0000001100), "");
  EXPECT_EQ(map.malformed_lines(), 0u);
}

TEST(PerfMap, LaterEntriesWin) {
  const auto map = PerfMap::parse("1000 100 old\n1080 100 new\n1000 10 newest\n");
  EXPECT_EQ(at(map, 0x1000), "newest+0");
  EXPECT_EQ(at(map, 0x1010), "old+16");
  EXPECT_EQ(at(map, 0x1080), "new+0");
}

TEST(PerfMap, CountsLinesWithoutSense) {
  const auto map = PerfMap::parse(
      "rubbish\n1000\n1000 10\n1000 10 \n1000 0 empty\nffffffffffffffff 10 wraps\n"
      "11111111111111111111 1 long\n-1 1 negative\n\n2000 10 good\nlast line 20 1");
  EXPECT_EQ(map.malformed_lines(), 9u);
  EXPECT_EQ(map.size(), 1u);
  EXPECT_EQ(at(map, 0x2001), "good+1");
}

TEST(PerfMap, HoldsManyOverlappingEntries) {
  std::string text;
  for (int i = 0; i < 100'000; ++i)
    text += "1000 fffff" + std::string(static_cast<std::size_t>(i) % 7, 'f') +
            " outer\n2000 10 inner\n";
  const auto map = PerfMap::parse(text);
  EXPECT_EQ(at(map, 0x2000), "inner+0");
  EXPECT_LT(map.memory_bytes(), 16u << 20);
}

/// The perf map of this process.
class OwnPerfMap : public testing::Test {
 protected:
  OwnPerfMap() { unlink(path.c_str()); }
  ~OwnPerfMap() override { unlink(path.c_str()); }
  void write() const { std::ofstream(path) << "1000 10 made\n"; }
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
};

TEST_F(OwnPerfMap, IsFound) {
  EXPECT_EQ(PerfMap::read(getpid()).size(), 0u);
  EXPECT_EQ(PerfMap::read(getpid()).refused(), "");
  write();
  EXPECT_EQ(at(PerfMap::read(getpid()), 0x1001), "made+1");
  EXPECT_EQ(PerfMap::read(1 << 30).size(), 0u);
}

TEST_F(OwnPerfMap, IsNoLinkFifoOrFolder) {
  const std::string other = path + ".other";
  std::ofstream(other) << "1000 10 made\n";
  ASSERT_EQ(symlink(other.c_str(), path.c_str()), 0);
  EXPECT_EQ(PerfMap::read(getpid()).refused(), path + ": a symbolic link");
  unlink(path.c_str());
  unlink(other.c_str());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(PerfMap::read(getpid()).refused(), path + ": not a regular file");
  unlink(path.c_str());
  ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
  EXPECT_EQ(PerfMap::read(getpid()).refused(), path + ": not a regular file");
  rmdir(path.c_str());
}

TEST_F(OwnPerfMap, BelongsToTheProcess) {
  write();
  const Fd file = open_regular(path);
  EXPECT_EQ(PerfMap::read(file, getuid()).size(), 1u);
  if (geteuid() != 0) GTEST_SKIP() << "needs root to give a file away";
  ASSERT_EQ(chown(path.c_str(), 12345, 0), 0);
  EXPECT_EQ(PerfMap::read(getpid()).size(), 0u);
  EXPECT_EQ(PerfMap::read(getpid()).refused(),
            "belongs to user 12345, not to the process's user 0 or root");
  EXPECT_EQ(PerfMap::read(file, 12345).size(), 1u);
  ASSERT_EQ(chown(path.c_str(), 0, 0), 0);
  EXPECT_EQ(PerfMap::read(file, 12345).size(), 1u);
}

TEST_F(OwnPerfMap, OfAHugeOneTheEndCounts) {
  write();
  ASSERT_EQ(truncate(path.c_str(), std::int64_t{1} << 30), 0);
  std::ofstream(path, std::ios::app) << "\n2000 10 last\n";
  const auto map = PerfMap::read(getpid());
  EXPECT_TRUE(map.is_cut());
  EXPECT_EQ(at(map, 0x2000), "last+0");
  EXPECT_EQ(at(map, 0x1000), "");
}

}  // namespace
}  // namespace overdue
