// spin interrupts|preemption CPU MICROSECONDS EVERY_MS: a BPF program spins on a CPU, again and
// again, with interrupts disabled (where this process sets a timer), or with preemption disabled
// (where it forks). Prints "ready" when it begins. Runs until it is killed, at most a minute.
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "bpf/wire.h"
#include "kernel/skeleton.h"

#include "spin_program.skel.h"

namespace {

void spin_on(bool interrupts, unsigned cpu, unsigned microseconds, unsigned every_ms) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  overdue::check_errno(sched_setaffinity(0, sizeof set, &set), "cannot go to that CPU");
  overdue::Skeleton<spin_program_bpf> bpf("spin_program");
  bpf->rodata->spinner_pid = static_cast<unsigned>(getpid());
  bpf->rodata->spin_ns = microseconds * 1'000ull;
  bpf->rodata->spin_turns = 1 << 23;
  bpf->bss->spins_left = 1 << 30;
  bpf_program* const hook =
      interrupts ? bpf->progs.spin_with_interrupts_off : bpf->progs.spin_with_preemption_off;
  bpf_program__set_autoload(hook, true);
  bpf.load();
  const overdue::Link link = overdue::attach(hook);
  std::puts("ready");
  std::fflush(stdout);
  while (true) {
    if (interrupts) {
      usleep(every_ms * 1'000);
      continue;
    }
    if (fork() == 0) {
      usleep(every_ms * 1'000);
      _exit(0);
    }
    wait(nullptr);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(60);
  try {
    spin_on(std::strcmp(argv[1], "interrupts") == 0, static_cast<unsigned>(std::atoi(argv[2])),
            static_cast<unsigned>(std::atoi(argv[3])), static_cast<unsigned>(std::atoi(argv[4])));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "spin: %s\n", error.what());
    return 1;
  }
}
