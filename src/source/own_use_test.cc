#include "source/own_use.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"

namespace overdue {
namespace {

constexpr std::uint64_t burnt_ns = 60'000'000;

void burn() {
  timespec now{};
  do {
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  } while (now.tv_sec == 0 && now.tv_nsec < static_cast<long>(burnt_ns));
}

TEST(OwnUse, MemoryOfAMapAndOfAProgramIsReadFromTheirDescriptors) {
  const BpfMemory map = parse_bpf_memory(
      "pos:\t0\nflags:\t02000002\nmap_type:\t27\nmax_entries:\t4096\nmemlock:\t45560\nmap_id:"
      "\t91\n");
  EXPECT_EQ(map.bytes, 45'560u);
  const BpfMemory program = parse_bpf_memory("prog_type:\t26\nmemlock:\t4096\nprog_id:\t91\n");
  EXPECT_EQ(program.bytes, 4096u);
  EXPECT_NE(program.object, map.object);
  EXPECT_TRUE(parse_bpf_memory("pos:\t0\nflags:\t02\n").object.empty());
  EXPECT_TRUE(parse_bpf_memory("").object.empty());
}

TEST(OwnUse, MappedMapsAreTheKernels) {
  EXPECT_EQ(mapped_bpf_bytes("7f25aa000000-7f25ac000000 r--s 00001000 00:0f 2061    "
                             "anon_inode:bpf-map\nSize:  32768 kB\nRss:   16384 kB\nPss: 1 kB\n"
                             "7f25ad000000-7f25ae000000 rw-p 00000000 00:00 0 \nRss:  40 kB\n"
                             "7f25af000000-7f25b0000000 rw-s 00000000 00:0f 2061 "
                             "anon_inode:bpf-map\nRss:    8 kB\n"),
            16392u * 1024);
  EXPECT_EQ(mapped_bpf_bytes(""), 0u);
  EXPECT_EQ(mapped_bpf_bytes("Rss:"), 0u);
}

TEST(OwnUse, HasRunningChildrenAndTheirEndedOnes) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const OwnUse before = own_use(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (fork() == 0) {
      burn();
      _exit(0);
    }
    wait(nullptr);
    burn();
    [[maybe_unused]] const auto said = write(ready[1], "x", 1);
    pause();
    _exit(0);
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  const OwnUse during = own_use(nullptr);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const OwnUse after = own_use(nullptr);
  for (const int end : ready) close(end);
  // /proc counts the ended grandchild in ticks of up to 10 ms; the count is exact after the child.
  EXPECT_GE(*during.cpu_ns - *before.cpu_ns, 2 * burnt_ns - 20'000'000);
  EXPECT_GE(*after.cpu_ns - *before.cpu_ns, 2 * burnt_ns - 20'000'000);
  EXPECT_GT(*during.memory_bytes, *before.memory_bytes);
}

TEST(OwnUse, LeavesTheProgramOut) {
  const OwnUse before = own_use(nullptr);
  SpawnedProgram program({"/bin/sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"});
  program.release();
  program.wait();
  const std::uint64_t program_ns = program.cpu_used().count();
  const OwnUse after = own_use(&program);
  EXPECT_GT(program_ns, 20'000'000u);
  EXPECT_LT(*after.cpu_ns - *before.cpu_ns, program_ns);
}

}  // namespace
}  // namespace overdue
