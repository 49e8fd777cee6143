// waits_for KIND TIMES: calls of 150 ms and more whose purpose shows only in the stack, or in the
// outcome.
//   answer   poll() of one descriptor below ask(), for a byte that another thread then writes
//   silence  poll() of two descriptors below ask(), and no answer comes within 150 ms
//   loop     epoll_wait() below a function with the name of libevent's loop
//   tick     the same, and only its timeout of 150 ms comes
//   pool     two threads wait for work in their main function, on a condition
//   queue    the same, below take(), which gives a task to run_tasks(); the task waits for an
//            answer on a condition of its own
//   sleep    a sleep
// Prints a line for each call: thread, function, and the time in the function in ns.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "workload.h"

#define IN_STACKS __attribute__((noinline))
#define SPAN_MS 150

static volatile int after;  // written after a call, to keep the caller on the stack

static void account(const char* function, long begin_ns) {
  static pthread_mutex_t lines = PTHREAD_MUTEX_INITIALIZER;
  const long end_ns = (long)now_ns();
  pthread_mutex_lock(&lines);
  printf("%ld %s %ld\n", syscall(SYS_gettid), function, end_ns - begin_ns);
  fflush(stdout);
  pthread_mutex_unlock(&lines);
}

/* A plain sleep, no longer than requested: nothing else in this thread is late meanwhile. */
IN_STACKS static void let_time_pass(void) {
  struct timespec time = {.tv_nsec = SPAN_MS * 1000000L};
  after = nanosleep(&time, NULL);
}

static int ends[2];

static void* write_later(void* times) {
  prctl(PR_SET_NAME, "writer");
  for (long i = 0; i < (long)times; ++i) {
    let_time_pass();
    if (write(ends[1], "x", 1) != 1) fail("write");
  }
  return NULL;
}

IN_STACKS static void ask(int descriptors, int timeout_ms) {
  struct pollfd wanted[2] = {{.fd = ends[0], .events = POLLIN}, {.fd = ends[0], .events = POLLPRI}};
  char answer;
  const long begin_ns = (long)now_ns();
  after = poll(wanted, (nfds_t)descriptors, timeout_ms);
  account("ask", begin_ns);
  if (after > 0 && read(ends[0], &answer, 1) != 1) fail("read");
}

IN_STACKS static void event_base_loop(int epoll, int timeout_ms) {
  struct epoll_event event;
  char work;
  const long begin_ns = (long)now_ns();
  after = epoll_wait(epoll, &event, 1, timeout_ms);
  account("event_base_loop", begin_ns);
  if (after > 0 && read(ends[0], &work, 1) != 1) fail("read");
}

static int watched(void) {
  const int epoll = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN};
  if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event)) fail("epoll");
  return epoll;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, answered = PTHREAD_COND_INITIALIZER;
static long tasks, answers;
static int is_over;

static void* run_pool(void* unused) {
  prctl(PR_SET_NAME, "pool");
  pthread_mutex_lock(&mutex);
  while (!is_over) {
    const long begin_ns = (long)now_ns();
    pthread_cond_wait(&work, &mutex);
    account("run_pool", begin_ns);
  }
  pthread_mutex_unlock(&mutex);
  return unused;
}

IN_STACKS static int take(void) {
  pthread_mutex_lock(&mutex);
  while (!is_over && tasks == 0) {
    const long begin_ns = (long)now_ns();
    pthread_cond_wait(&work, &mutex);
    account("take", begin_ns);
  }
  const int is_task = tasks > 0;
  tasks -= is_task;
  pthread_mutex_unlock(&mutex);
  return is_task;
}

IN_STACKS static void get_answer(void) {
  pthread_mutex_lock(&mutex);
  const long begin_ns = (long)now_ns();
  while (answers == 0) pthread_cond_wait(&answered, &mutex);
  account("get_answer", begin_ns);
  --answers;
  pthread_mutex_unlock(&mutex);
}

IN_STACKS static void task(void) {
  get_answer();
  after = 1;
}

IN_STACKS static void serve(void) {
  task();
  after = 1;
}

static void* run_tasks(void* unused) {
  prctl(PR_SET_NAME, "queue");
  while (take()) serve();
  return unused;
}

static void give(long* count, pthread_cond_t* to) {
  pthread_mutex_lock(&mutex);
  *count += 2;
  pthread_cond_broadcast(to);
  pthread_mutex_unlock(&mutex);
}

static void run_threads(void* (*main_function)(void*), long times) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i)
    if (pthread_create(&threads[i], NULL, main_function, NULL)) fail("pthread_create");
  for (long i = 0; i < times; ++i) {
    let_time_pass();
    give(&tasks, &work);
    if (main_function != run_tasks) continue;
    let_time_pass();
    give(&answers, &answered);
  }
  let_time_pass();
  pthread_mutex_lock(&mutex);
  is_over = 1;
  pthread_cond_broadcast(&work);
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}

int main(int argc, char** argv) {
  const char* kind = argc > 1 ? argv[1] : "";
  const long times = number_argument(argc, argv, 2, 1);
  const int answers_come = !strcmp(kind, "answer") || !strcmp(kind, "loop");
  pthread_t writer;
  if (pipe(ends)) fail("pipe");
  if (!strcmp(kind, "pool")) run_threads(run_pool, times);
  if (!strcmp(kind, "queue")) run_threads(run_tasks, times);
  if (answers_come && pthread_create(&writer, NULL, write_later, (void*)times))
    fail("pthread_create");
  const int epoll = watched();
  for (long i = 0; i < times; ++i) {
    if (!strcmp(kind, "answer")) ask(1, -1);
    if (!strcmp(kind, "silence")) ask(2, SPAN_MS);
    if (!strcmp(kind, "loop")) event_base_loop(epoll, -1);
    if (!strcmp(kind, "tick")) event_base_loop(epoll, SPAN_MS);
    if (!strcmp(kind, "sleep")) let_time_pass();
  }
  if (answers_come) pthread_join(writer, NULL);
  return 0;
}
