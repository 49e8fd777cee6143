// The contents of a call's record: its name, its latency, its strings.
#include <fcntl.h>
#include <sys/personality.h>
#include <sys/syscall.h>

#include <cstring>

#include <bpf/bpf.h>

#include "probes/syscalls/probe.h"
#include "probes/syscalls/probe_fixture.h"

namespace overdue {
namespace {

using ProbeRecords = KernelTest;

/// Moves the moment at which `child` entered its open call. The moment is the first member of a
/// thread's state (bpf/target.bpf.h).
void set_entry_time(Measuring& measuring, const Child& child, u64 enter_ns) {
  const SharedMaps maps = measuring.session.membership().maps();
  const bool hashed = hashed_threads() > 1;
  const int threads = hashed ? maps.threads_hashed : maps.threads;
  bpf_map_info info{};
  u32 size = sizeof info;
  ASSERT_EQ(bpf_obj_get_info_by_fd(threads, &info, &size), 0);
  std::vector<std::byte> state(info.value_size);
  const Fd pidfd(static_cast<int>(syscall(SYS_pidfd_open, child.pid(), 0)));
  u64 key = static_cast<u64>(pidfd.get());
  if (hashed) {
    ASSERT_EQ(bpf_map_get_next_key(threads, nullptr, &key), 0);
  }
  ASSERT_EQ(bpf_map_lookup_elem(threads, &key, state.data()), 0);
  std::memcpy(state.data(), &enter_ns, sizeof enter_ns);
  ASSERT_EQ(bpf_map_update_elem(threads, &key, state.data(), BPF_EXIST), 0);
}

TEST_F(ProbeRecords, ACallThatEndsBeforeItBeganTookNoTime) {
  constexpr u64 in_an_hour = 3'600'000'000'000;
  for (SyscallsOptions options : every_way()) {
    options.only = only_these({SYS_read});
    Child child([](Child& self) { self.step(); });
    Measuring measuring(rules_of_process(child), options, ring_for(options));
    measuring.arm();
    child.run_step();
    ASSERT_TRUE(child.wait_until_in(SYS_read));
    const u64 now_ns = KernelClock::now_ns();
    set_entry_time(measuring, child, now_ns + in_an_hour);
    child.go();
    EXPECT_EQ(child.end(), 0);
    const Seen& seen = measuring.finish();
    EXPECT_EQ(seen.made(SYS_read), 1u);
    EXPECT_EQ(seen.max_ns(), 0u);
  }
}

TEST_F(ProbeRecords, NamesArePaddedWithNulsWhateverTheRingHeldBefore) {
  Child child([](Child& self) {
    prctl(PR_SET_NAME, "fifteen letters");
    call_times(SYS_getppid, 2'000);
    self.step();
    prctl(PR_SET_NAME, "x");
    call_times(SYS_getppid, 400);
  });
  Measuring measuring(rules_of_process(child), figures(Figures::calls, only_these({SYS_getppid})),
                      64 << 10);
  measuring.arm();
  child.run_step();  // the ring of its CPU is full of the long name
  usleep(50'000);    // records younger than a few milliseconds stay
  while (measuring.session.poll(measuring.seen.handler()) > 0) continue;
  child.go();
  EXPECT_EQ(child.end(), 0);
  u64 short_names = 0;
  for (const syscall_call& call : measuring.finish().calls) {
    const std::string_view name(call.header.comm, COMM_SIZE);
    if (name[0] != 'x') continue;
    ++short_names;
    EXPECT_EQ(name, std::string("x") + std::string(COMM_SIZE - 1, '\0'));
  }
  EXPECT_EQ(short_names, 400u);
}

TEST_F(ProbeRecords, TextThatCannotBeReadIsCountedAndNullIsNoText) {
  Child child([](Child&) {
    syscall(SYS_openat, AT_FDCWD, 1, O_RDONLY);  // a bad address
    syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY);
    for (int i = 0; i < 3; ++i) syscall(SYS_utimensat, 0, nullptr, nullptr, 0);
  });
  Measuring measuring(rules_of_process(child),
                      figures(Figures::calls, only_these({SYS_openat, SYS_utimensat})), plenty);
  measuring.arm();
  child.go();
  EXPECT_EQ(child.end(), 0);
  EXPECT_EQ(measuring.finish().calls.size(), 5u);
  EXPECT_EQ(measuring.probe->counters()[COUNTER_TEXT_UNREAD], 1u);
}

// The place of the strings of a new program's environment, without address randomization.
constexpr std::uintptr_t top_of_stack = 0x7ffffffff000, page = 4096;

/// Executes /bin/true by a name that is not in memory when the call begins, at an address where the
/// new program has something else. Does not return; ends with 8 if that address is taken.
[[noreturn]] void exec_by_an_absent_name() {
  const int file = memfd_create("name", 0);
  constexpr char name[] = "/bin/true";
  if (pwrite(file, name, sizeof name, 0) < 0 || ftruncate(file, page) != 0) _exit(7);
  void* const place = reinterpret_cast<void*>(top_of_stack - page);
  if (mmap(place, page, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, file, 0) != place) _exit(8);
  personality(ADDR_NO_RANDOMIZE);
  std::string program = "true", filler = "FILLER=" + std::string(2 * page, 'A');
  char* argv[] = {program.data(), nullptr};
  char* environment[] = {filler.data(), nullptr};
  execve(static_cast<const char*>(place), argv, environment);
  _exit(9);
}

TEST_F(ProbeRecords, AfterAnExecNoTextIsReadFromTheNewProgram) {
  Child child([](Child&) { exec_by_an_absent_name(); });
  Measuring measuring(rules_of_process(child), figures(Figures::calls, only_these({SYS_execve})),
                      plenty);
  measuring.arm();
  child.go();
  const int status = child.end();
  if (WEXITSTATUS(status) == 8) GTEST_SKIP() << "the child's stack is where the new one will be";
  ASSERT_EQ(status, 0);
  const Seen& seen = measuring.finish();
  ASSERT_EQ(seen.calls.size(), 1u);
  EXPECT_EQ(seen.calls[0].ret, 0);
  EXPECT_EQ(seen.calls[0].arguments[0], top_of_stack - page);
  EXPECT_EQ(seen.calls[0].text_arguments, 0u) << "read from the new program";
  EXPECT_EQ(measuring.probe->counters()[COUNTER_TEXT_UNREAD], 1u);
}

}  // namespace
}  // namespace overdue
