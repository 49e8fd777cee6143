// Computes in a cgroup with a CPU quota. FILE is the cgroup's `cgroup.procs`.
//   over_quota compute FILE MS     for MS of wall time; prints how long it stood still meanwhile
//   over_quota serve FILE TIMES    a child in the cgroup computes 30 ms of CPU time for each
//                                  request of its parent, which is outside; prints each time
//   over_quota tick FILE TIMES     sleeps TIMES times for 3 ms while a child computes in the
//                                  cgroup; prints the greatest delay beyond the requested time
//   over_quota read FILE TIMES MS  TIMES read() calls that compute in the kernel for about MS of
//   CPU
//                                  time; prints each time by the program's clock
#include <signal.h>
#include <sys/prctl.h>

#include "workload.h"

#define MS 1000000ll

static void compute(long ms) {
  long long begin = now_ns(), last = begin, still = 0, longest = 0;
  while (last - begin < ms * MS) {
    long long next = now_ns();
    if (next - last >= MS) still += next - last;
    if (next - last > longest) longest = next - last;
    last = next;
  }
  printf("{\"tid\": %d, \"still_ns\": %lld, \"longest_ns\": %lld}\n", (int)getpid(), still,
         longest);
}

static long long cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void answer(int requests, int answers) {
  char byte;
  while (read(requests, &byte, 1) == 1) {
    long long end = cpu_ns() + 30 * MS;
    while (cpu_ns() < end) continue;
    if (write(answers, &byte, 1) != 1) fail("write");
  }
}

static void serve(const char* procs, long times) {
  int there[2], back[2];
  if (pipe(there) || pipe(back)) fail("pipe");
  pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    close(there[1]);
    join_cgroup(procs);
    answer(there[0], back[1]);
    exit(0);
  }
  for (long i = 0; i < times; i++) {
    char byte = 'x';
    long long begin = now_ns();
    if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) fail("request");
    printf("{\"tid\": %d, \"child\": %d, \"took_ns\": %lld}\n", (int)getpid(), (int)child,
           now_ns() - begin);
  }
  close(there[1]);
  wait_for(child);
}

static void tick(long times) {
  long long longest = 0;
  pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (volatile long turns = 0;; turns++) continue;
  }
  for (long i = 0; i < times; i++) {
    const long long wanted = now_ns() + 3 * MS;
    const struct timespec t = {.tv_sec = wanted / (1000 * MS), .tv_nsec = wanted % (1000 * MS)};
    if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL)) fail("clock_nanosleep");
    const long long late = now_ns() - wanted;
    if (late > longest) longest = late;
  }
  kill(child, SIGKILL);
  printf("{\"tid\": %d, \"late_ns\": %lld}\n", (int)getpid(), longest);
}

static void read_much(const char* procs, long times, long ms) {
  const size_t sample = 1 << 20;
  const int from = open("/dev/urandom", O_RDONLY);
  char* bytes = malloc(sample);
  if (from < 0 || !bytes) fail("/dev/urandom");
  if (read(from, bytes, sample) != (ssize_t)sample) fail("read"); /* the first is slower */
  const long long begin = cpu_ns();
  if (read(from, bytes, sample) != (ssize_t)sample) fail("read");
  const size_t size = (double)sample * (ms * MS) / (cpu_ns() - begin);
  bytes = realloc(bytes, size);
  if (!bytes) fail("realloc");
  memset(bytes, 0, size); /* no page faults later */
  join_cgroup(procs);
  for (long i = 0; i < times; i++) {
    const long long begin_ns = now_ns();
    if (read(from, bytes, size) <= 0) fail("read");
    printf("{\"type\": \"call\", \"tid\": %d, \"begin_ns\": %lld, \"took_ns\": %lld}\n",
           (int)getpid(), begin_ns, now_ns() - begin_ns);
    fflush(stdout);
  }
}

int main(int argc, char** argv) {
  long amount = number_argument(argc, argv, 3, 0);
  if (amount > 0 && strcmp(argv[1], "serve") == 0) {
    serve(argv[2], amount);
  } else if (amount > 0 && strcmp(argv[1], "compute") == 0) {
    join_cgroup(argv[2]);
    compute(amount);
  } else if (amount > 0 && strcmp(argv[1], "read") == 0) {
    read_much(argv[2], amount, number_argument(argc, argv, 4, 30));
  } else if (amount > 0 && strcmp(argv[1], "tick") == 0) {
    join_cgroup(argv[2]);
    tick(amount);
  } else {
    return 2;
  }
  return 0;
}
