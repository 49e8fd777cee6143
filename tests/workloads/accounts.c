// Threads that keep another thread waiting, and keep accounts of their time:
//   accounts holder HOW TIMES   a lock is held while its holder sleeps 10 times for 8 ms (naps),
//                               uses 40 ms of CPU time (computes), or both (mixed: 20 ms, then
//                               25 ms of sleep)
//   accounts turns TIMES        three real-time threads take turns on CPU 0, spinning for 20 ms,
//                               10 ms and 5 ms, while a lower-priority thread is runnable that
//                               slept until just before
// Prints a line of JSON about each, by the thread's own clocks.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include "workload.h"

#define MS 1000000ll

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t held, ready;

static long long cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void nap(long long ns) {
  struct timespec t = {.tv_sec = 0, .tv_nsec = ns};
  nanosleep(&t, NULL);
}

static void compute(long long ns) {
  for (long long end = cpu_ns() + ns; cpu_ns() < end;) continue;
}

struct holding {
  const char* how;
  long times;
};

static void hold(const char* how) {
  if (strcmp(how, "naps") == 0)
    for (int i = 0; i < 10; i++) nap(8 * MS);
  if (strcmp(how, "computes") == 0) compute(40 * MS);
  if (strcmp(how, "mixed") == 0) {
    compute(20 * MS);
    nap(25 * MS);
  }
}

static void* be_holder(void* argument) {
  const struct holding* holding = argument;
  pthread_setname_np(pthread_self(), "holder");
  for (long i = 0; i < holding->times; i++) {
    sem_wait(&ready);
    pthread_mutex_lock(&lock);
    sem_post(&held);
    nap(2 * MS); /* the other thread waits by then */
    long long begin = now_ns(), cpu = cpu_ns();
    hold(holding->how);
    long long end = now_ns(), used = cpu_ns() - cpu;
    pthread_mutex_unlock(&lock);
    printf(
        "{\"type\": \"held\", \"tid\": %d, \"begin_ns\": %lld, \"end_ns\": %lld, \"cpu_ns\": "
        "%lld}\n",
        (int)gettid(), begin, end, used);
  }
  return NULL;
}

static void hold_up(const char* how, long times) {
  struct holding holding = {how, times};
  pthread_t holder;
  sem_init(&held, 0, 0);
  sem_init(&ready, 0, 0);
  if (pthread_create(&holder, NULL, be_holder, &holding)) fail("pthread_create");
  for (long i = 0; i < times; i++) {
    sem_post(&ready);
    sem_wait(&held);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
  }
  pthread_join(holder, NULL);
}

struct turn {
  const char* name;
  int priority;
  long long from_ns, ns;  // since the round began
};

static const struct turn turns[] = {
    {"first", 30, 0, 20 * MS}, {"second", 29, 5 * MS, 10 * MS}, {"third", 28, 5 * MS, 5 * MS}};

static long rounds;
static long long start_ns;

static void be_on_cpu_0(const char* name, int priority) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(0, &cpus);
  struct sched_param how = {.sched_priority = priority};
  if (sched_setaffinity(0, sizeof cpus, &cpus)) fail("sched_setaffinity");
  if (sched_setscheduler(0, SCHED_FIFO, &how)) fail("sched_setscheduler");
  pthread_setname_np(pthread_self(), name);
}

static void sleep_until(long long ns) {
  struct timespec t = {.tv_sec = ns / 1000000000LL, .tv_nsec = ns % 1000000000LL};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL)) continue;
}

static void* take_turns(void* argument) {
  const struct turn* turn = argument;
  be_on_cpu_0(turn->name, turn->priority);
  for (long i = 0; i < rounds; i++) {
    sleep_until(start_ns + i * 150 * MS + turn->from_ns);
    long long begin = now_ns();
    compute(turn->ns);
    long long end = now_ns();
    printf(
        "{\"type\": \"turn\", \"name\": \"%s\", \"tid\": %d, \"begin_ns\": %lld, \"end_ns\": "
        "%lld}\n",
        turn->name, (int)gettid(), begin, end);
  }
  return NULL;
}

static void wait_for_turns(void) {
  pthread_t threads[3];
  start_ns = now_ns() + 50 * MS;
  for (int i = 0; i < 3; i++)
    if (pthread_create(&threads[i], NULL, take_turns, (void*)&turns[i])) fail("pthread_create");
  be_on_cpu_0("victim", 5);
  for (long i = 0; i < rounds; i++) {
    long long due = start_ns + i * 150 * MS + 2 * MS;
    sleep_until(due);
    printf("{\"type\": \"woke\", \"tid\": %d, \"due_ns\": %lld, \"ran_ns\": %lld}\n", (int)gettid(),
           due, now_ns());
  }
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc == 4 && strcmp(argv[1], "holder") == 0)
    hold_up(argv[2], atol(argv[3]));
  else if (argc == 3 && strcmp(argv[1], "turns") == 0) {
    rounds = atol(argv[2]);
    wait_for_turns();
  } else
    return 2;
  return 0;
}
