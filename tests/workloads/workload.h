// Shared by the test workloads: small programs that make a known number of known system calls.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline void fail(const char* what) {
  perror(what);
  exit(99);
}

// Uses syscall(2), because libc may cache or wrap the function of the same name.
static inline void call_getppid(long times) {
  for (long i = 0; i < times; i++) syscall(SYS_getppid);
}

static inline long number_argument(int argc, char** argv, int index, long otherwise) {
  return index < argc ? strtol(argv[index], NULL, 10) : otherwise;
}

// Joins a cgroup by its file `cgroup.procs`.
static inline void join_cgroup(const char* procs) {
  int fd = open(procs, O_WRONLY);
  if (fd < 0 || write(fd, "0", 1) != 1) fail(procs);
  close(fd);
}

// CLOCK_MONOTONIC from the vDSO: no system call.
static inline long long now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static inline void wait_for(pid_t child) {
  int status;
  if (waitpid(child, &status, 0) != child) fail("waitpid");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    fprintf(stderr, "child ended with status 0x%x\n", (unsigned)status);
    exit(98);
  }
}
