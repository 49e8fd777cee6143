// on_demand: makes calls on request, for tests that attach to a running process. Prints "ready",
// then reads lines and answers each with "ok":
//   main N     the main thread calls getppid N times
//   thread N   a thread that exists from the start does so
//   new N      a new thread does so
//   fork N     a child process does so
//   wait       nothing, only to be in step
//   exec P     becomes the program P
// Ends at end of file.
#include <pthread.h>

#include "workload.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long wanted;

static void* old_thread(void* unused) {
  (void)unused;
  pthread_mutex_lock(&lock);
  for (;;) {
    while (wanted == 0) pthread_cond_wait(&changed, &lock);
    call_getppid(wanted);
    wanted = 0;
    pthread_cond_signal(&changed);
  }
  return NULL;
}

static void* new_thread(void* times) {
  call_getppid((long)times);
  return NULL;
}

static void obey(const char* line) {
  char word[16] = "", argument[4096] = "";
  sscanf(line, "%15s %4095s", word, argument);
  long times = strtol(argument, NULL, 10);
  pthread_t thread;
  if (strcmp(word, "main") == 0) {
    call_getppid(times);
  } else if (strcmp(word, "thread") == 0) {
    pthread_mutex_lock(&lock);
    wanted = times;
    pthread_cond_broadcast(&changed);
    while (wanted != 0) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
  } else if (strcmp(word, "new") == 0) {
    if (pthread_create(&thread, NULL, new_thread, (void*)times)) fail("pthread_create");
    pthread_join(thread, NULL);
  } else if (strcmp(word, "fork") == 0) {
    pid_t child = fork();
    if (child < 0) fail("fork");
    if (child == 0) {
      call_getppid(times);
      _exit(0);
    }
    wait_for(child);
  } else if (strcmp(word, "exec") == 0) {
    execl(argument, argument, "100", NULL);
    fail(argument);
  }
}

int main(void) {
  char line[8192];
  pthread_t thread;
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (pthread_create(&thread, NULL, old_thread, NULL)) fail("pthread_create");
  puts("ready");
  while (fgets(line, sizeof line, stdin)) {
    obey(line);
    puts("ok");
  }
  return 0;
}
