// Each process that uses a disk has its requests, and no more.
#include "probes/disks/probe.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "base/text.h"
#include "kernel/child_fixture.h"
#include "kernel/session.h"

namespace overdue {
namespace {

constexpr std::size_t written = 64, block = 65536;
constexpr std::size_t hidden_ends = 2;  // ends of requests that a hardened kernel may hide

constexpr int no_such_file = 2;

/// Writes past the cache, to a file of its own that has no name, in $OVERDUE_DISK or here.
void write_directly(Child&) {
  const char* const folder = std::getenv("OVERDUE_DISK");
  const int file = open(folder ? folder : ".", O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);
  void* data = nullptr;
  if (file < 0 || posix_memalign(&data, 4096, block) != 0) _exit(no_such_file);
  memset(data, 1, block);
  for (std::size_t i = 0; i < written; ++i)
    if (pwrite(file, data, block, static_cast<off_t>(i * block)) != static_cast<ssize_t>(block))
      _exit(1);
}

class DisksProbeTest : public KernelTest {};

TEST_F(DisksProbeTest, CountsTheBytesOfEachProcess) {
  Child child(write_directly);
  MembershipRules rules;
  rules.pids = {static_cast<std::uint32_t>(getpid())};
  Session session(rules, std::size_t{1} << 20);
  session.add(std::make_unique<DisksProbe>(session.membership().maps()));
  session.arm();
  child.go();
  const int result = child.end();
  if (WIFEXITED(result) && WEXITSTATUS(result) == no_such_file)
    GTEST_SKIP() << "no file here can be written past the cache";
  ASSERT_EQ(result, 0);
  std::vector<disk_use> uses;
  session.finish([&](const Record& record) {
    if (record.schema->id == RECORD_DISK_USE) uses.push_back(record.as<disk_use>());
  });
  u64 bytes = 0, requests = 0, device_ns = 0;
  for (const disk_use& use : uses) {
    EXPECT_GT(use.requests, 0u);
    EXPECT_FALSE(fixed_text(use.disk).empty());
    if (use.header.pid != static_cast<u32>(child.pid())) continue;
    bytes += use.data_bytes;
    requests += use.requests;
    device_ns += use.device_ns;
  }
  // The file system may write more of its own; a virtual file system has no disk.
  if (uses.empty()) GTEST_SKIP() << "this file system is on no disk";
  EXPECT_GE(bytes, (written - hidden_ends) * block);
  EXPECT_LT(bytes, 2 * written * block) << requests << " requests";
  EXPECT_GE(requests, written - hidden_ends);
  EXPECT_GT(device_ns, 0u);
}

}  // namespace
}  // namespace overdue
