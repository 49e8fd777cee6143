// way_back HOW TIMES: reads that are over, but whose thread comes back to its program late:
//   stopped   the reader gets SIGSTOP in its read(), and SIGCONT 120 ms later; then the byte comes
//   self      the thread stops itself with kill(); SIGCONT comes 120 ms later
//   handler   a signal interrupts the read(); its handler computes for 100 ms, and naps for 50 ms
//   jumps     the same, but every second time, the handler leaves at once by siglongjmp()
//   frozen    the reader's cgroup is frozen in its read(), and thawed 120 ms later; then the byte
//             comes. After TIMES: the cgroup.procs, the freezer's file, and the words to write
//             there to freeze and to thaw
//   traced    a tracer holds the reader at the end of each read() for 120 ms
// Prints the time of each call, by the thread's own clock.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "workload.h"

#define MS 1000000ll

static void nap(long long ms) {
  const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * MS};
  nanosleep(&t, NULL);
}

static void tell(const char* call, long long begin) {
  printf(
      "{\"type\": \"call\", \"tid\": %d, \"name\": \"%s\", \"begin_ns\": %lld, \"took_ns\": "
      "%lld}\n",
      (int)gettid(), call, begin, now_ns() - begin);
  fflush(stdout);
}

static void read_all(int from) {
  char byte;
  for (;;) {
    const long long begin = now_ns();
    if (read(from, &byte, 1) != 1) _exit(0);
    tell("read", begin);
  }
}

static void stop_oneself(long times) {
  for (long i = 0; i < times; i++) {
    const long long begin = now_ns();
    kill(getpid(), SIGSTOP);
    tell("kill", begin);
  }
  _exit(0);
}

static sigjmp_buf before_read;
static volatile int jumps, handled;

static void compute_and_nap(int signal) {
  (void)signal;
  if (jumps && handled++ % 2) siglongjmp(before_read, 1);
  const long long end = now_ns() + 100 * MS;
  while (now_ns() < end) continue;
  nap(50);
}

/* Each read() is interrupted, and returns when its handler does. Announces each read() in
 * `ready`. */
static void read_interrupted(int from, int ready, long times) {
  const struct sigaction action = {.sa_handler = compute_and_nap};
  if (sigaction(SIGUSR1, &action, NULL)) fail("sigaction");
  for (volatile long i = 0; i < times; i++) {
    char byte;
    if (sigsetjmp(before_read, 1)) continue;
    if (write(ready, "r", 1) != 1) fail("write");
    const long long begin = now_ns();
    if (read(from, &byte, 1) != -1) fail("read");
    tell("read", begin);
  }
  _exit(0);
}

static void write_word(const char* path, const char* word) {
  FILE* file = fopen(path, "w");
  if (!file || fputs(word, file) < 0 || fclose(file)) fail(path);
}

static void freeze(char** argv, int to, long times) {
  for (long i = 0; i < times; i++) {
    write_word(argv[4], argv[5]);
    nap(120);
    write_word(argv[4], argv[6]);
    nap(20);
    if (write(to, "x", 1) != 1) fail("write");
    nap(20);
  }
}

static void wait_for_stop(pid_t child) {
  int status;
  if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) fail("waitpid");
}

static void resume(pid_t child) {
  if (ptrace(PTRACE_SYSCALL, child, 0, 0)) fail("ptrace");
}

static void trace(pid_t child, int to, long times) {
  for (long i = 0; i < times; i++) {
    if (ptrace(PTRACE_SEIZE, child, 0, 0) || ptrace(PTRACE_INTERRUPT, child, 0, 0)) fail("ptrace");
    wait_for_stop(child); /* out of its read() … */
    resume(child);
    wait_for_stop(child); /* … which begins again */
    resume(child);
    nap(20);
    if (write(to, "x", 1) != 1) fail("write");
    wait_for_stop(child); /* the read() has ended */
    nap(120);
    if (ptrace(PTRACE_DETACH, child, 0, 0)) fail("ptrace");
    nap(20); /* it prints, and reads again */
  }
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "stopped";
  const long times = number_argument(argc, argv, 2, 3);
  if (strcmp(how, "frozen") == 0 && argc < 7) return 2;
  int ends[2], ready[2], status;
  if (pipe(ends) || pipe(ready)) fail("pipe");
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    prctl(PR_SET_NAME, "reader");
    close(ends[1]);
    if (strcmp(how, "self") == 0) stop_oneself(times);
    if (strcmp(how, "frozen") == 0) join_cgroup(argv[3]);
    jumps = strcmp(how, "jumps") == 0;
    if (jumps || strcmp(how, "handler") == 0) read_interrupted(ends[0], ready[1], times);
    read_all(ends[0]);
  }
  close(ends[0]);
  nap(50);
  if (strcmp(how, "traced") == 0) {
    trace(child, ends[1], times);
  } else if (strcmp(how, "frozen") == 0) {
    freeze(argv, ends[1], times);
  } else if (strcmp(how, "handler") == 0 || strcmp(how, "jumps") == 0) {
    for (long i = 0; i < times; i++) {
      char byte;
      if (read(ready[0], &byte, 1) != 1) fail("read");
      nap(20);
      kill(child, SIGUSR1);
    }
    wait_for(child); /* with its pipe open: no read() returns for another reason */
    return 0;
  } else {
    for (long i = 0; i < times; i++) {
      if (strcmp(how, "stopped") == 0) kill(child, SIGSTOP);
      waitpid(child, &status, WUNTRACED);
      nap(120);
      kill(child, SIGCONT);
      nap(20);
      if (strcmp(how, "stopped") == 0 && write(ends[1], "x", 1) != 1) fail("write");
      nap(20);
    }
  }
  close(ends[1]);
  wait_for(child);
  return 0;
}
