
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <thread>

#include "probes/span_fixture.h"

namespace overdue {
namespace {

class BlockProbe : public SpanTest {
 protected:
  BlockProbe() : SpanTest({SPAN_BLOCK, SPAN_BLOCK_QUEUED}) {}
};

constexpr int block_size = 4096;

/// A file on the disk of the working directory, or in $OVERDUE_DISK, if the disk is a real one and
/// takes direct I/O.
class DiskFile {
 public:
  DiskFile() : path_("overdue-block-test-XXXXXX") {
    if (const char* folder = std::getenv("OVERDUE_DISK"))
      path_.insert(0, std::string(folder) + '/');
    fd_ = Fd(mkostemp(path_.data(), O_DIRECT | O_CLOEXEC));
    if (!fd_) return;
    unlink(path_.c_str());
    struct stat about{};
    if (fstat(fd_.get(), &about) != 0) return;
    std::ifstream stats("/proc/diskstats");
    for (std::string line; std::getline(stats, line);) {
      std::istringstream words(line);
      unsigned major = 0, minor = 0;
      std::string name;
      words >> major >> minor >> name;
      if (major == ::major(about.st_dev) && minor == ::minor(about.st_dev)) disk_ = name;
    }
  }
  bool usable() const { return fd_ && !disk_.empty(); }
  int fd() const { return fd_.get(); }
  const std::string& disk() const { return disk_; }

 private:
  std::string path_;
  Fd fd_;
  std::string disk_;
};

bool write_blocks(int fd, int times) {
  alignas(block_size) static char block[block_size] = {'o'};
  for (int i = 0; i < times; ++i)
    if (pwrite(fd, block, sizeof block, static_cast<off_t>(i * block_size)) != sizeof block)
      return false;
  return true;
}
bool read_blocks(int fd, int times) {
  alignas(block_size) static char block[block_size];
  for (int i = 0; i < times; ++i)
    if (pread(fd, block, sizeof block, static_cast<off_t>(i * block_size)) != sizeof block)
      return false;
  return true;
}

struct DiskStats {
  u64 completed = 0;
  u64 sectors = 0;
};
/// Reads, writes and discards of a disk so far.
DiskStats stats_of(const std::string& disk) {
  std::ifstream file("/sys/class/block/" + disk + "/stat");
  u64 word[15] = {};
  for (u64& value : word) file >> value;
  return {word[0] + word[4] + word[11], word[2] + word[6] + word[13]};
}

TEST_F(BlockProbe, DirectWritesAndReadsOfAMemberAreAllThereWithTheirBytes) {
  constexpr int times = 50;
  const DiskFile file;
  if (!file.usable() || !write_blocks(file.fd(), times))
    GTEST_SKIP() << "no direct I/O to a disk from the working directory";
  Child child([&](Child&) {
    if (!write_blocks(file.fd(), times) || !read_blocks(file.fd(), times)) _exit(1);
  });
  measure(only(child.pid()));
  want(SPAN_BLOCK, 1);
  want(SPAN_BLOCK_QUEUED, 1);
  arm();
  child.go();
  EXPECT_EQ(child.end(), 0);
  finish();
  expect_sound();
  for (const span_kind kind : {SPAN_BLOCK, SPAN_BLOCK_QUEUED}) {
    u64 read = 0, written = 0;
    std::set<u64> places;  // of the file's blocks
    for (const SeenSpan& span : of(kind)) {
      if (span.record.begin_tid != child.pid()) continue;
      EXPECT_EQ(span.text(), file.disk());
      EXPECT_FALSE(span.is(SPAN_FAILED));
      if (!span.is(SPAN_WRITE)) continue;
      written += span.record.detail;
      places.insert(span.record.subject);
    }
    // The child may also read its own program, and the file's metadata, if memory has lost them.
    for (const SeenSpan& span : of(kind))
      if (span.record.begin_tid == child.pid() && !span.is(SPAN_WRITE) &&
          places.contains(span.record.subject))
        read += span.record.detail;
    EXPECT_EQ(read, times * block_size);
    EXPECT_GE(written, times * block_size);  // writes of the file's time stamps may come on top
    EXPECT_LE(written, times * block_size + 16 * block_size);
  }
  EXPECT_EQ(probe().open_spans(), 0u);
  EXPECT_EQ(receipt().unmatched, 0u);
}

TEST_F(BlockProbe, TimeInTheQueueComesOnTopOfTimeInTheDevice) {
  const DiskFile file;
  if (!file.usable() || !write_blocks(file.fd(), 1))
    GTEST_SKIP() << "no direct I/O to a disk from the working directory";
  Child child([&](Child&) {
    if (!write_blocks(file.fd(), 20)) _exit(1);
  });
  measure(only(child.pid()));
  want(SPAN_BLOCK, 1);
  want(SPAN_BLOCK_QUEUED, 1);
  arm();
  child.go();
  EXPECT_EQ(child.end(), 0);
  finish();
  const auto in_device = of(SPAN_BLOCK);
  auto queued = of(SPAN_BLOCK_QUEUED);
  const auto is_open = [](const SeenSpan& span) { return span.is(SPAN_OPEN); };
  constexpr u64 hidden = 2;  // ends that a hardened kernel may hide
  EXPECT_LE(std::erase_if(queued, is_open), nested() + hidden) << "requests whose end was not seen";
  EXPECT_GE(queued.size() + nested() + hidden, 20u);
  ASSERT_EQ(in_device.size(), queued.size());
  for (const SeenSpan& whole : queued) {
    const auto part = std::find_if(in_device.begin(), in_device.end(), [&](const SeenSpan& span) {
      return span.record.header.time_ns == whole.record.header.time_ns &&
             span.record.subject == whole.record.subject;
    });
    ASSERT_NE(part, in_device.end());
    EXPECT_LE(part->record.latency_ns, whole.record.latency_ns);
  }
}

TEST_F(BlockProbe, WhatIsOpenAtTheEndHasItsDiskAndItsDirection) {
  const DiskFile file;
  if (!file.usable() || !write_blocks(file.fd(), 20))
    GTEST_SKIP() << "no direct I/O to a disk from the working directory";
  const auto is_open = [](const SeenSpan& span) { return span.is(SPAN_OPEN); };
  std::vector<SeenSpan> open;
  for (unsigned attempt = 0; attempt < 20 && open.empty(); ++attempt) {  // one nearly always is
    forget();
    Child child([&](Child&) {
      const auto write_on = [&] {
        while (write_blocks(file.fd(), 20)) continue;
      };
      std::jthread others[] = {std::jthread(write_on), std::jthread(write_on),
                               std::jthread(write_on)};
      write_on();
    });
    measure(only(child.pid()));
    want(SPAN_BLOCK_QUEUED, 1);
    arm();
    child.go();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    finish();
    open = of(SPAN_BLOCK_QUEUED);
    std::erase_if(open, std::not_fn(is_open));
  }
  ASSERT_FALSE(open.empty());
  for (const SeenSpan& span : open) {
    EXPECT_TRUE(span.is(SPAN_WRITE));
    EXPECT_EQ(span.text(), file.disk());
  }
}

TEST_F(BlockProbe, OfEverythingItAgreesWithTheKernelsOwnCounts) {
  constexpr int times = 400;
  const DiskFile file;
  if (!file.usable() || !write_blocks(file.fd(), 1))
    GTEST_SKIP() << "no direct I/O to a disk from the working directory";
  measure();
  want(SPAN_BLOCK, 1);
  const DiskStats outer_before = stats_of(file.disk());
  arm();
  const DiskStats inner_before = stats_of(file.disk());
  EXPECT_TRUE(write_blocks(file.fd(), times));
  EXPECT_EQ(fsync(file.fd()), 0);
  const DiskStats inner_after = stats_of(file.disk());
  const u64 open = probe().open_spans();
  finish();
  const DiskStats outer_after = stats_of(file.disk());
  expect_sound();
  u64 completed = 0, sectors = 0;
  for (const SeenSpan& span : of(SPAN_BLOCK, file.disk())) {
    completed += !span.is(SPAN_FLUSH);
    sectors += span.record.detail / 512;
  }
  // A few requests are under way at any of the four readings. If a hardened kernel hides an end,
  // its request seems open, or did so until the next request in its struct. An interrupt may also
  // have ended or begun a request while another event was being reported.
  constexpr u64 under_way = 64;
  const u64 unreported = open + receipt().unmatched + nested();
  EXPECT_GE(completed + unreported, u64{times});
  EXPECT_GE(completed + receipt().cut + unreported + under_way,
            inner_after.completed - inner_before.completed);
  EXPECT_LE(unreported, completed);
  EXPECT_LE(completed, outer_after.completed - outer_before.completed + under_way);
  EXPECT_LE(sectors, outer_after.sectors - outer_before.sectors + under_way * 2048);
  EXPECT_EQ(receipt().lost(), nested());
}

}  // namespace
}  // namespace overdue
