#include "probes/syscalls/probe.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <map>
#include <thread>

#include "probes/syscalls/probe_fixture.h"

namespace overdue {
namespace {

using ProbeTest = KernelTest;

constexpr u32 unassigned_nr = 9'999;
constexpr std::size_t thread_count = 4;

void in_threads(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::vector<std::thread> running;
  for (std::size_t i = 0; i < count; ++i) running.emplace_back(work, i);
  for (std::thread& thread : running) thread.join();
}

TEST_F(ProbeTest, EveryCallOfEveryThreadIsCountedOnceEveryWay) {
  for (const SyscallsOptions& options : every_way()) {
    Shared<std::array<std::atomic<u32>, thread_count>> tids;
    Child child([&](Child&) {
      in_threads(thread_count, [&](std::size_t i) {
        (*tids)[i] = this_tid();
        call_times(SYS_getppid, 1'000);
        call_times(SYS_getuid, 100 * static_cast<int>(i + 1));
        call_times(unassigned_nr, static_cast<int>(i + 1));
      });
    });
    Measuring measuring(rules_of_process(child), options, ring_for(options));
    measuring.arm();
    child.go();
    EXPECT_EQ(child.end(), 0);
    const Seen& seen = measuring.finish();
    EXPECT_EQ(seen.made(SYS_getppid), thread_count * 1'000);
    EXPECT_EQ(seen.made(SYS_getuid), 100u + 200 + 300 + 400);
    EXPECT_EQ(seen.made(unassigned_nr), 1u + 2 + 3 + 4);
    if (options.by_thread || options.calls) {
      for (std::size_t i = 0; i < thread_count; ++i) {
        EXPECT_EQ(seen.made(SYS_getppid, ABI_NATIVE, (*tids)[i]), 1'000u);
        EXPECT_EQ(seen.made(SYS_getuid, ABI_NATIVE, (*tids)[i]), 100 * (i + 1));
        EXPECT_EQ(seen.made(unassigned_nr, ABI_NATIVE, (*tids)[i]), i + 1);
      }
    }
    const Receipt receipt = measuring.session.receipt();
    EXPECT_EQ(receipt.lost(), 0u);
    EXPECT_EQ(receipt.unmatched, 0u);
    EXPECT_EQ(receipt.cut, 1u);  // the read(2) the child was waiting in
    EXPECT_GT(receipt.target_cpu_ns.value_or(0), 0u);
    EXPECT_TRUE(seen.opens.empty());
  }
}

/// lseek(2) returns what it is asked for, so each record shows whether its end belongs to its
/// begin.
TEST_F(ProbeTest, NoEndIsMatchedWithAnotherThreadsBegin) {
  constexpr u64 rounds = 3'000;
  struct Open {
    std::atomic<u32> tid;
    std::atomic<int> file;
  };
  Shared<std::array<Open, thread_count>> open;
  Child child([&](Child&) {
    in_threads(thread_count, [&](std::size_t i) {
      (*open)[i].tid = this_tid();
      const int file = (*open)[i].file = memfd_create("seek", 0);
      for (u64 round = 0; round < rounds; ++round)
        syscall(SYS_lseek, file, i * 1'000'000 + round, SEEK_SET);
      const timespec pause{0, static_cast<long>(i + 1) * 1'000'000};
      syscall(SYS_nanosleep, &pause, nullptr);
    });
  });
  const SyscallsOptions options = figures(Figures::calls, only_these({SYS_lseek, SYS_nanosleep}));
  Measuring measuring(rules_of_process(child), options, plenty);
  measuring.arm();
  child.go();
  EXPECT_EQ(child.end(), 0);
  const Seen& seen = measuring.finish();
  EXPECT_EQ(seen.made(SYS_lseek), thread_count * rounds);
  std::map<u32, u64> next;
  for (const syscall_call& call : seen.calls) {
    const auto owner = std::find_if(open->begin(), open->end(),
                                    [&](const Open& one) { return one.tid == call.header.tid; });
    ASSERT_NE(owner, open->end());
    const auto i = static_cast<u64>(owner - open->begin());
    if (call.nr == SYS_nanosleep) {
      EXPECT_GE(call.latency_ns, (i + 1) * 1'000'000);
      continue;
    }
    EXPECT_EQ(call.arguments[0], static_cast<u64>(owner->file));
    EXPECT_EQ(call.arguments[1], i * 1'000'000 + next[call.header.tid]++);
    EXPECT_EQ(static_cast<u64>(call.ret), call.arguments[1]);
  }
}

struct Clients {
  std::atomic<bool> stop;
  std::atomic<u64> made;
};

void call_until_stopped(Clients& load) {
  in_threads(2, [&](std::size_t) {
    u64 made = 0;
    while (!load.stop) {
      for (int i = 0; i < 64; ++i) syscall(SYS_getppid);
      made += 64;
    }
    load.made += made;
  });
}

TEST_F(ProbeTest, CollectingWhileThreadsRunAtFullSpeedLosesNothing) {
  for (const bool by_thread : {false, true}) {
    Shared<Clients> load;
    Child child([&](Child& self) {
      call_until_stopped(*load);
      self.step();
    });
    Measuring measuring(rules_of_process(child),
                        figures(by_thread ? Figures::by_thread : Figures::by_cpu));
    measuring.arm();
    child.go();
    const KernelTime end = KernelClock::now() + std::chrono::seconds(1);
    std::size_t collected = 0;
    for (; KernelClock::now() < end; ++collected) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      measuring.collect();
    }
    load->stop = true;
    child.wait_step();
    const Seen& seen = measuring.finish();
    EXPECT_GT(collected, 3u);
    EXPECT_GT(load->made, 1'000u);
    EXPECT_EQ(seen.made(SYS_getppid), load->made);
    EXPECT_EQ(measuring.session.receipt().lost(), 0u);
    for (const syscall_cell& cell : seen.cells) {
      u64 in_buckets = 0;
      for (const u32 bucket : cell.latency.buckets) in_buckets += bucket;
      EXPECT_EQ(in_buckets, cell.latency.count);  // no update was torn in two by a drain
      if (cell.latency.count > 0) {
        EXPECT_LE(cell.latency.min_ns, cell.latency.max_ns);
      }
    }
  }
}

TEST_F(ProbeTest, CallsWithoutACellAreCountedAsLost) {
  constexpr u64 many = 40, times = 10;
  Child child([](Child& self) {
    in_threads(many, [](std::size_t) { call_times(SYS_getppid, times); });
    self.step();
    in_threads(many, [](std::size_t) { call_times(SYS_getppid, times); });
  });
  SyscallsOptions options = figures(Figures::by_thread, only_these({SYS_getppid}));
  options.cells = 16;
  Measuring measuring(rules_of_process(child), options);
  measuring.arm();
  child.run_step();
  EXPECT_GT(measuring.lost("cells_full"), 0u);
  EXPECT_TRUE(measuring.session.cells_are_filling());
  measuring.collect();
  EXPECT_EQ(measuring.seen.made(SYS_getppid), 16 * times);
  EXPECT_EQ(measuring.seen.made(SYS_getppid) + measuring.lost("cells_full"), many * times);
  EXPECT_FALSE(measuring.session.cells_are_filling());
  child.go();
  EXPECT_EQ(child.end(), 0);
  const Seen& seen = measuring.finish();  // there is room again
  EXPECT_EQ(seen.made(SYS_getppid), 2 * 16 * times);
  EXPECT_EQ(seen.made(SYS_getppid) + measuring.lost("cells_full"), 2 * many * times);
  EXPECT_LT(seen.max_ns(), 60'000'000'000u);
}

TEST_F(ProbeTest, CallsThatFindTheRingFullAreCountedAsLost) {
  constexpr u64 calls = 20'000;
  Child child([](Child& self) {
    call_times(SYS_getppid, calls);
    self.step();
    call_times(SYS_getppid, 100);
  });
  Measuring measuring(rules_of_process(child),
                      figures(Figures::calls_and_by_thread, only_these({SYS_getppid})), 64 << 10);
  measuring.arm();
  child.run_step();
  EXPECT_TRUE(measuring.session.rings_are_filling());
  usleep(10'000);  // poll() leaves the records of the last millisecond
  while (measuring.session.poll(measuring.seen.handler()) > 0) continue;
  EXPECT_FALSE(measuring.session.rings_are_filling());
  const u64 lost = measuring.lost("ring_full");
  EXPECT_GT(lost, 0u);
  EXPECT_GT(measuring.seen.calls.size(), 100u);
  EXPECT_EQ(measuring.seen.calls.size() + lost, calls);
  child.go();
  EXPECT_EQ(child.end(), 0);
  const Seen& seen = measuring.finish();
  EXPECT_EQ(measuring.lost("ring_full"), lost);  // there was room again
  EXPECT_EQ(seen.calls.size() + lost, calls + 100);
  u64 in_cells = 0;
  for (const syscall_cell& cell : seen.cells) in_cells += cell.latency.count;
  EXPECT_EQ(in_cells, calls + 100);  // a full ring costs the record, not the figures
  EXPECT_LT(seen.max_ns(), 60'000'000'000u);
}

TEST_F(ProbeTest, RecordsOfDifferentCpusComeInTimeOrder) {
  Child child([](Child&) {
    in_threads(2, [](std::size_t i) {
      run_on_cpu(static_cast<unsigned>(i));
      call_times(SYS_getppid, 20'000);
    });
  });
  Measuring measuring(rules_of_process(child), figures(Figures::calls, only_these({SYS_getppid})),
                      plenty);
  measuring.arm();
  child.go();
  std::set<u32> cpus;
  u64 previous_ns = 0;
  for (bool last = false; !last;) {
    last = child.has_ended();
    const std::size_t before = measuring.seen.calls.size();
    last ? static_cast<void>(measuring.finish()) : measuring.poll();
    for (std::size_t i = before; i < measuring.seen.calls.size(); ++i) {
      const event_header& header = measuring.seen.calls[i].header;
      ASSERT_GE(header.time_ns, previous_ns) << "record " << i;
      previous_ns = header.time_ns;
      cpus.insert(header.cpu);
    }
  }
  EXPECT_EQ(measuring.seen.calls.size(), 40'000u);
  if (sysconf(_SC_NPROCESSORS_ONLN) > 1) {
    EXPECT_EQ(cpus.size(), 2u);
  }
}

TEST_F(ProbeTest, OnlyMeasuresTheNumbersAskedFor) {
  for (SyscallsOptions options : every_way()) {
    options.only = only_these({SYS_getppid, SYS_close});
    Child child([](Child&) {
      call_times(SYS_getppid, 7);
      call_times(SYS_getuid, 5);
      call_times(unassigned_nr, 3);
      for (int i = 0; i < 11; ++i) close(-1);
    });
    Measuring measuring(rules_of_process(child), options, ring_for(options));
    measuring.session.calibrate(time_getppid());  // must not leave getppid in the set, nor out
    measuring.arm();
    child.go();
    EXPECT_EQ(child.end(), 0);
    const Seen& seen = measuring.finish();
    EXPECT_EQ(seen.made(SYS_getppid), 7u);
    EXPECT_EQ(seen.made(SYS_close), 11u);
    EXPECT_EQ(seen.all(), 18u);
    EXPECT_EQ(measuring.probe->counters()[COUNTER_BEYOND_SETS], 3u);
  }
}

TEST_F(ProbeTest, ACallThatWasNotAskedForIsNeverSaidToBeCut) {
  Shared<std::atomic<bool>> spins, go;
  Child child([&](Child& self) {
    *spins = true;
    while (!*go) continue;  // in no call while the session starts
    call_times(SYS_getuid, 3);
    call_times(SYS_getppid, 3);
    self.step();
  });
  child.go();
  while (!*spins) usleep(1'000);
  Measuring measuring(rules_of_process(child), figures(Figures::by_cpu, only_these({SYS_getppid})));
  measuring.arm();
  *go = true;
  child.wait_step();
  EXPECT_EQ(measuring.finish().made(SYS_getppid), 3u);
  EXPECT_EQ(measuring.session.receipt().cut, 0u);
}

TEST_F(ProbeTest, TheCallAThreadSleepsInIsCutIfItWasAskedFor) {
  for (const u32 wanted : {u32{SYS_getppid}, u32{SYS_read}}) {
    Child child([](Child& self) { self.step(); });
    ASSERT_TRUE(child.wait_until_in(SYS_read));
    Measuring measuring(rules_of_process(child), figures(Figures::by_cpu, only_these({wanted})));
    measuring.arm();
    child.run_step();
    measuring.finish();
    EXPECT_EQ(measuring.session.receipt().cut, wanted == SYS_read ? 1u : 0u);
  }
}

TEST_F(ProbeTest, OnlyMeasuresCallsThatBeginOnTheCpusAskedFor) {
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "one CPU only";
  Child child([](Child&) {
    run_on_cpu(1);
    call_times(SYS_getppid, 100);
    run_on_cpu(0);
    call_times(SYS_getppid, 50);
  });
  SyscallsOptions options;
  options.cpus = {0};
  Measuring measuring(rules_of_process(child), options);
  measuring.arm();
  child.go();
  EXPECT_EQ(child.end(), 0);
  const Seen& seen = measuring.finish();
  EXPECT_EQ(seen.made(SYS_getppid), 50u);
  for (const syscall_cell& cell : seen.cells)
    if (cell.nr == SYS_getppid) {
      EXPECT_EQ(cell.header.cpu, 0u);
    }
}

TEST_F(ProbeTest, ErrorsAreCountedByErrno) {
  Child child([](Child&) {
    for (int i = 0; i < 4; ++i) close(-1);
    for (int i = 0; i < 3; ++i) syscall(SYS_openat, AT_FDCWD, "/no/such/file", O_RDONLY);
    call_times(unassigned_nr, 2);
  });
  Measuring measuring(rules_of_process(child));
  measuring.arm();
  child.go();
  EXPECT_EQ(child.end(), 0);
  std::map<std::pair<u32, u32>, u64> errors;
  for (const syscall_cell& cell : measuring.finish().cells)
    for (const errno_count& slot : cell.errnos)
      if (slot.code != 0) errors[{cell.nr, slot.code}] += slot.count;
  EXPECT_EQ((errors[{SYS_close, EBADF}]), 4u);
  EXPECT_EQ((errors[{SYS_openat, ENOENT}]), 3u);
  EXPECT_EQ((errors[{unassigned_nr, ENOSYS}]), 2u);
}

TEST_F(ProbeTest, CallsOfOtherAbisAreToldApart) {
  const unsigned int80_calls = has_32_bit_entry() ? 5 : 0;
  for (const SyscallsOptions& options : every_way()) {
    Child child([&](Child&) {
      for (unsigned i = 0; i < int80_calls; ++i) getpid_by_int80();
      call_times(0x40000000 | 39, 4);
    });
    Measuring measuring(rules_of_process(child), options, ring_for(options));
    measuring.arm();
    child.go();
    EXPECT_EQ(child.end(), 0);
    const Seen& seen = measuring.finish();
    EXPECT_EQ(seen.made(20, ABI_COMPAT), int80_calls);
    EXPECT_EQ(seen.made(20, ABI_NATIVE), 0u);
    EXPECT_EQ(seen.made(39, ABI_X32), 4u);
    EXPECT_EQ(measuring.session.receipt().unmatched, 0u);
  }
}

TEST_F(ProbeTest, ARenamedThreadsCallsGoToItsNewName) {
  Child child(
      [](Child&) {
        for (const char* name : {"first", "second"}) {
          prctl(PR_SET_NAME, name);
          call_times(SYS_getppid, 3);
          call_times(unassigned_nr, 2);
        }
      },
      "zeroth");
  Measuring measuring(rules_of_process(child), figures(Figures::by_thread));
  measuring.arm();
  child.go();
  EXPECT_EQ(child.end(), 0);
  std::map<std::pair<std::string, u32>, u64> made;
  for (const syscall_cell& cell : measuring.finish().cells)
    made[{cell.header.comm, cell.nr}] += cell.latency.count;
  EXPECT_EQ((made[{"first", SYS_getppid}]), 3u);
  EXPECT_EQ((made[{"second", SYS_getppid}]), 3u);
  EXPECT_EQ((made[{"first", unassigned_nr}]), 2u);
  EXPECT_EQ((made[{"second", unassigned_nr}]), 2u);
}

}  // namespace
}  // namespace overdue
