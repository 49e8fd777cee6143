// hang pipe|sleep|poll|vfork|deadlock|open|fault SECONDS: a thread that waits in a known function
// until SIGALRM kills the process after SECONDS (sleep: until the sleep ends; vfork: until the
// child has ended). open: waits for a writer to the FIFO "answers" in its folder. fault: opens a
// file whose name is in memory that userfaultfd never fills; exits with 77 if that is not allowed.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "workload.h"

#define IN_STACKS __attribute__((noinline))

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static volatile int after;  // written after a call, to keep the caller on the stack

IN_STACKS static void wait_for_an_answer(void) {
  int ends[2];
  char byte;
  if (pipe(ends)) fail("pipe");
  after = (int)read(ends[0], &byte, 1);
}

IN_STACKS static void wait_for_events(void) {
  after = poll(NULL, 0, -1);
}

IN_STACKS static void sleep_long(long seconds) {
  struct timespec time = {.tv_sec = seconds};
  after = nanosleep(&time, NULL);
}

/* The parent waits for the child uninterruptibly (D), until the child has ended. */
IN_STACKS static void wait_for_a_child(long seconds) {
  pid_t child = vfork();
  if (child == 0) {
    struct timespec time = {.tv_sec = seconds};
    nanosleep(&time, NULL);
    _exit(0);
  }
  after = waitpid(child, NULL, 0);
}

IN_STACKS static void take_both(pthread_mutex_t* one, pthread_mutex_t* other) {
  pthread_mutex_lock(one);
  pthread_barrier_wait(&both);
  pthread_mutex_lock(other);
  after = 1;
}

static void* other_thread(void* unused) {
  (void)unused;
  prctl(PR_SET_NAME, "dead-2");
  take_both(&second, &first);
  return NULL;
}

IN_STACKS static void deadlock(void) {
  pthread_t thread;
  pthread_barrier_init(&both, NULL, 2);
  prctl(PR_SET_NAME, "dead-1");
  if (pthread_create(&thread, NULL, other_thread, NULL)) fail("pthread_create");
  take_both(&first, &second);
}

IN_STACKS static void wait_for_a_writer(void) {
  after = open("answers", O_RDONLY);
}

IN_STACKS static void wait_for_memory(void) {
  enum { SIZE = 4096 };
  const int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
  struct uffdio_api api = {.api = UFFD_API};
  char* name = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct uffdio_register range = {.range = {(unsigned long)name, SIZE},
                                  .mode = UFFDIO_REGISTER_MODE_MISSING};
  if (faults < 0 || ioctl(faults, UFFDIO_API, &api) || ioctl(faults, UFFDIO_REGISTER, &range))
    exit(77);
  after = open(name, O_RDONLY);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "pipe";
  long seconds = number_argument(argc, argv, 2, 0);
  if (strcmp(how, "sleep") && strcmp(how, "vfork")) alarm((unsigned)seconds);
  if (!strcmp(how, "pipe")) wait_for_an_answer();
  if (!strcmp(how, "poll")) wait_for_events();
  if (!strcmp(how, "sleep")) sleep_long(seconds);
  if (!strcmp(how, "vfork")) wait_for_a_child(seconds);
  if (!strcmp(how, "deadlock")) deadlock();
  if (!strcmp(how, "open")) wait_for_a_writer();
  if (!strcmp(how, "fault")) wait_for_memory();
  return 0;
}
