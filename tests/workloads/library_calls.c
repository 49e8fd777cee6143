// Makes system calls through known library functions, each a known number of times; prints the
// numbers that a test cannot know. Built with -O2 and without frame pointers.
#define _GNU_SOURCE
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int compare(const void* a, const void* b) {
  getppid(); /* called by qsort(), but from the program */
  return *(const int*)a - *(const int*)b;
}

static void* in_thread(void* argument) {
  for (int i = 0; i < 7; ++i) getpgrp();
  return argument;
}

static void on_signal(int number) {
  (void)number;
  getuid();
}

/* More than a page of stack between the call and main, and a frame of variable size. */
static __attribute__((noinline)) int deep(int depth, int bytes) {
  volatile char* room = __builtin_alloca((size_t)bytes);
  room[0] = (char)depth;
  return depth == 0 ? (int)getgid() : deep(depth - 1, bytes + 8) + room[0];
}

static __attribute__((noinline)) long raw_call(void) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_getegid) : "rcx", "r11", "memory");
  return result;
}

int main(int count, char** arguments) {
  const int times = count > 1 ? atoi(arguments[1]) : 1;
  char buffer[64];
  FILE* out = fopen("/dev/null", "w");
  setvbuf(out, NULL, _IONBF, 0);
  for (int i = 0; i < times; ++i) fprintf(out, "%d\n", i); /* one write each */
  for (int i = 0; i < times; ++i) {
    FILE* in = fopen("/dev/zero", "r");
    setvbuf(in, NULL, _IONBF, 0);
    if (fread(buffer, 1, 16, in) != 16) return 1; /* one read */
    fclose(in);
  }
  int fd = open("/dev/zero", O_RDONLY);
  for (int i = 0; i < times; ++i)
    if (read(fd, buffer, 8) != 8) return 1;
  close(fd);

  struct addrinfo* found = NULL;
  if (getaddrinfo("localhost", "80", NULL, &found) == 0) freeaddrinfo(found);

  int numbers[8] = {7, 6, 5, 4, 3, 2, 1, 0};
  qsort(numbers, 8, sizeof numbers[0], compare);

  for (int i = 0; i < times; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
  }

  signal(SIGUSR1, on_signal);
  for (int i = 0; i < 3; ++i) raise(SIGUSR1);

  for (int i = 0; i < 5; ++i) deep(20, 100 + i);
  for (int i = 0; i < 4; ++i) raw_call();

  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 6; ++i) geteuid();
    if (count > 2) execv(arguments[2], arguments + 2);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  return 0;
}
