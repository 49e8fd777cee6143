// lock-demo: a mutex that one thread, "holder", holds in hold_the_lock() while all others wait.
//
// Each round: all threads meet; the holder takes the mutex; the waiters ask for it; once the kernel
// reports that all waiters sleep, the holder starts to count its time. So every waiter waits for
// the holder, for at least the time of the hold, however busy the machine is.
#include <fcntl.h>

#include "demo.h"

static int64_t waiters = 2, rounds = 50, shortest = 5 * MILLISECOND, longest = 150 * MILLISECOND,
               spin;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t round_begins, lock_is_held;
static struct worker holder, waiter[MAX_THREADS];
static atomic_int about_to_wait;
static atomic_bool last_round;

// Guarded by `lock`.
static const struct worker* last_owner;
static int64_t hold_ns;  // of this round
static long long waits, waited_ns, held_ns;

static void wait_at(pthread_barrier_t* barrier) {
  const int result = pthread_barrier_wait(barrier);
  if (result != 0 && result != PTHREAD_BARRIER_SERIAL_THREAD)
    fail(result, "cannot wait at a barrier");
}

// State of a thread of this process from /proc: R, S, D, …
static char state_of(pid_t tid) {
  char text[256];
  snprintf(text, sizeof text, "/proc/self/task/%d/stat", tid);
  const int file = open(text, O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(errno, "cannot read %s", text);
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  text[length > 0 ? length : 0] = '\0';
  const char* name_end = strrchr(text, ')');
  return name_end != NULL && name_end[1] == ' ' ? name_end[2] : '?';
}

static void wait_until_all_sleep(void) {
  while (about_to_wait < waiters) usleep(50);
  for (int i = 0; i < waiters; i++)
    while (state_of(waiter[i].tid) != 'S') usleep(50);
}

static void let_time_pass(int64_t asked) {
  const int64_t end = now_ns() + asked;
  if (spin) {
    while (now_ns() < end) continue;
    return;
  }
  const struct timespec until = {.tv_sec = end / SECOND, .tv_nsec = end % SECOND};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) continue;
}

IN_STACKS void hold_the_lock(int64_t asked) {
  pthread_mutex_lock(&lock);
  wait_at(&lock_is_held);
  wait_until_all_sleep();
  hold_ns = asked;
  last_owner = &holder;
  const int64_t begin = now_ns();
  let_time_pass(asked);
  const int64_t took = now_ns() - begin;
  held_ns += took;
  pthread_mutex_unlock(&lock);
  say("hold", begin, ",\"function\":\"hold_the_lock\",\"asked_ns\":%lld,\"took_ns\":%lld",
      (long long)asked, (long long)took);
}

IN_STACKS void wait_for_the_lock(struct worker* self) {
  const int64_t begin = now_ns();
  about_to_wait++;
  pthread_mutex_lock(&lock);
  const int64_t took = now_ns() - begin, held = hold_ns;
  const struct worker* from = last_owner;
  last_owner = self;
  waits++;
  waited_ns += took;
  pthread_mutex_unlock(&lock);
  say("wait", begin,
      ",\"function\":\"wait_for_the_lock\",\"owner_tid\":%d,\"owner\":\"%s\",\"owner_function\":"
      "\"hold_the_lock\",\"hold_ns\":%lld,\"took_ns\":%lld,\"handed_by_tid\":%d,\"handed_by\":\"%"
      "s\"",
      holder.tid, holder.name, (long long)held, (long long)took, from->tid, from->name);
}

IN_STACKS void hold_in_rounds(struct worker* self) {
  for (int64_t round = 0; round < rounds; round++) {
    const int64_t asked = random_between(&self->random, shortest, longest);
    if (must_stop() || now_ns() + asked > deadline_ns()) break;
    about_to_wait = 0;
    wait_at(&round_begins);
    hold_the_lock(asked);
  }
  last_round = true;
  wait_at(&round_begins);
}

IN_STACKS void wait_in_rounds(struct worker* self) {
  for (;;) {
    wait_at(&round_begins);
    if (last_round) return;
    wait_at(&lock_is_held);
    wait_for_the_lock(self);
  }
}

static const struct demo_option options[] = {
    {"--waiters", OPTION_COUNT, &waiters, NULL, 1, MAX_THREADS, "N",
     "threads waiter-1, ...; 2 if not given"},
    {"--rounds", OPTION_COUNT, &rounds, NULL, 1, 1000000, "N", "times it is held; 50 if not given"},
    {"--min", OPTION_TIME, &shortest, NULL, 0, 60LL * SECOND, "TIME",
     "held at least; 5ms if not given"},
    {"--max", OPTION_TIME, &longest, NULL, 0, 60LL * SECOND, "TIME",
     "held at most; 150ms if not given"},
    {"--spin", OPTION_FLAG, &spin, NULL, 0, 1, NULL, "computes while it holds; else it sleeps"},
    {0}};

int main(int argc, char** argv) {
  parse_options(
      argc, argv,
      "The thread holder keeps a mutex in the function hold_the_lock for random times, while "
      "waiter-1, waiter-2, ... wait for it in wait_for_the_lock.",
      options);
  if (shortest > longest) usage_error("--min is above --max");
  pthread_barrier_init(&round_begins, NULL, (unsigned)waiters + 1);
  pthread_barrier_init(&lock_is_held, NULL, (unsigned)waiters + 1);
  say_start();
  for (int i = 0; i < waiters; i++) start_worker(&waiter[i], "waiter", i + 1, wait_in_rounds);
  start_worker(&holder, "holder", 0, hold_in_rounds);
  join_worker(&holder);
  for (int i = 0; i < waiters; i++) join_worker(&waiter[i]);
  say("summary", now_ns(), ",\"waits\":%lld,\"waited_ns\":%lld,\"held_ns\":%lld", waits, waited_ns,
      held_ns);
  return exit_status();
}
