// exec_in_thread PROGRAM [ARGUMENTS…]: a thread that is not the leader executes PROGRAM. The kernel
// ends the other threads and gives the caller the leader's id.
#include <pthread.h>

#include "workload.h"

static void* execute(void* arguments) {
  char** argv = arguments;
  call_getppid(5);
  execv(argv[0], argv);
  fail(argv[0]);
  return NULL;
}

static void* wait_here(void* unused) {
  while (pause() == -1) {
  }
  return unused;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  pthread_t bystander, executor;
  if (pthread_create(&bystander, NULL, wait_here, NULL)) fail("pthread_create");
  if (pthread_create(&executor, NULL, execute, argv + 1)) fail("pthread_create");
  for (;;) pause();
}
