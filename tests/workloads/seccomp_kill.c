// seccomp_kill [thread]: a filter kills the process, or with `thread` only one of two threads, in
// getppid, while another thread sleeps.
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "workload.h"

static void forbid_getppid(unsigned action) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, action),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
  if (prctl(PR_SET_DUMPABLE, 0) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) fail("prctl");
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) fail("seccomp");
}

static void* killed(void* action) {
  forbid_getppid((unsigned)(unsigned long)action);
  usleep(100000);
  syscall(SYS_getppid);
  return NULL;
}

int main(int argc, char** argv) {
  (void)argv;
  unsigned long action = argc > 1 ? SECCOMP_RET_KILL_THREAD : SECCOMP_RET_KILL_PROCESS;
  pthread_t thread;
  if (pthread_create(&thread, NULL, killed, (void*)action)) fail("pthread_create");
  usleep(400000);
  return 0;
}
