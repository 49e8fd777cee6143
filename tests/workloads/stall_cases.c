// stall_cases CASE [N]: a process with a call of 30 ms, made in take_a_nap(), and then:
//   exit     the process ends at once, without other calls
//   stay     the process stays for another second
//   seccomp  the process makes a call for which its seccomp filter kills it
//   vfork    N times, a child that shares the stack takes the nap, and the parent waits in vfork()
//   threads  N threads, 32 of them alive at a time, nap for 3 ms each, once
//   signals  N times, a handled signal each millisecond of the nap, which goes on with the rest
//   killed   another thread kills the process in the middle of the nap
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "workload.h"

#define NAP_NS 30000000L

__attribute__((noinline)) static void take_a_nap(long ns) {
  struct timespec rest = {ns / 1000000000, ns % 1000000000};
  while (clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, &rest) != 0) {
  }
  __asm__ volatile("");  // not a tail call
}

static void* nap_in_thread(void* ns) {
  take_a_nap((long)ns);
  return NULL;
}

static void nap_in_threads(long count) {
  enum { AT_ONCE = 32 };
  pthread_t threads[AT_ONCE];
  for (long i = 0; i < count; ++i) {
    if (i >= AT_ONCE) pthread_join(threads[i % AT_ONCE], NULL);
    if (pthread_create(&threads[i % AT_ONCE], NULL, nap_in_thread, (void*)3000000L))
      fail("pthread_create");
  }
  for (long i = count < AT_ONCE ? 0 : count - AT_ONCE; i < count; ++i)
    pthread_join(threads[i % AT_ONCE], NULL);
}

static void nap_in_vfork(long times) {
  for (volatile long left = times; left > 0; --left) {
    const pid_t child = vfork();
    if (child < 0) fail("vfork");
    if (child == 0) {
      take_a_nap(NAP_NS);
      _exit(0);
    }
    waitpid(child, NULL, 0);
  }
}

static volatile long interruptions;
static void on_alarm(int number) {
  (void)number;
  ++interruptions;
}

static void nap_under_signals(long times) {
  struct sigaction action = {.sa_handler = on_alarm};
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval every = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &every, NULL);
  for (long i = 0; i < times; ++i) take_a_nap(NAP_NS);
  printf("%ld\n", interruptions);
}

static void* kill_soon(void* unused) {
  (void)unused;
  const struct timespec half = {0, NAP_NS / 2};
  nanosleep(&half, NULL);
  kill(getpid(), SIGKILL);
  return NULL;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const long count = number_argument(argc, argv, 2, 10);
  prctl(PR_SET_DUMPABLE, 0);  // no core file
  if (!strcmp(what, "exit")) {
    take_a_nap(NAP_NS);
    _exit(0);
  } else if (!strcmp(what, "stay")) {
    take_a_nap(NAP_NS);
    poll(NULL, 0, 1000);
  } else if (!strcmp(what, "seccomp")) {
    take_a_nap(NAP_NS);
    prctl(PR_SET_SECCOMP, 1);  // read, write and exit only
    getppid();
  } else if (!strcmp(what, "vfork")) {
    nap_in_vfork(count);
  } else if (!strcmp(what, "threads")) {
    nap_in_threads(count);
  } else if (!strcmp(what, "signals")) {
    nap_under_signals(count);
  } else if (!strcmp(what, "killed")) {
    pthread_t killer;
    if (pthread_create(&killer, NULL, kill_soon, NULL)) fail("pthread_create");
    take_a_nap(60 * 1000000000L);
  } else {
    return 2;
  }
  return 0;
}
