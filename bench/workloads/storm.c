// SPDX-License-Identifier: Apache-2.0
// A fork/exec storm, like a build: bench_storm DIRECTORY. One operation is a job: fork and exec of
// a dynamically linked program that looks for headers in the wrong folders, reads some files,
// writes an output and exits. As many jobs run at once as there are CPUs; nothing is pinned.
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "section.h"

#define MISSING_HEADERS 40
#define FILES_READ 12
#define OUTPUT_SIZE 16384

// The system calls of a compiler, without the computing in between. argv[0] stands for the sources.
static int run_job(const char* source, const char* directory) {
  char path[4096], bytes[OUTPUT_SIZE];
  struct stat status;
  for (int i = 0; i < MISSING_HEADERS; i++) {
    snprintf(path, sizeof(path), "%s/include/%d/header.h", directory, i);
    if (stat(path, &status) == 0) return 1;
  }
  memset(bytes, 0, sizeof(bytes));
  for (int i = 0; i < FILES_READ; i++) {
    int file = open(source, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) != 0) return 1;
    while (read(file, bytes, sizeof(bytes)) > 0) continue;
    close(file);
  }
  snprintf(path, sizeof(path), "%s/job-%d.o", directory, (int)getpid());
  int output = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (output < 0 || write(output, bytes, sizeof(bytes)) != sizeof(bytes)) return 1;
  close(output);
  return unlink(path) == 0 ? 0 : 1;
}

static void start_job(char* program, char* directory) {
  char* arguments[] = {program, "--job", directory, NULL};
  pid_t pid = fork();
  if (pid < 0) give_up("fork");
  if (pid > 0) return;
  execv("/proc/self/exe", arguments);
  _exit(127);
}

static void await_job(void) {
  int status;
  if (wait(&status) < 0) give_up("wait");
  if (status != 0) {
    fputs("bench_storm: a job failed\n", stderr);
    exit(1);
  }
}

static void run_jobs(char* program, char* directory, uint64_t count, uint64_t parallel) {
  for (uint64_t started = 0; started < count; started++) {
    if (started >= parallel) await_job();
    start_job(program, directory);
  }
  for (uint64_t left = count < parallel ? count : parallel; left > 0; left--) await_job();
}

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "--job") == 0) return run_job(argv[0], argv[2]);
  if (argc != 2) {
    fputs("usage: bench_storm DIRECTORY\n", stderr);
    return 2;
  }
  uint64_t parallel = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
  say_ready();
  struct section section;
  while (next_section(&section)) {
    run_jobs(argv[0], argv[1], warm_up_count(section.count), parallel);
    uint64_t begin_ns = monotonic_ns();
    run_jobs(argv[0], argv[1], section.count, parallel);
    uint64_t elapsed_ns = monotonic_ns() - begin_ns;
    report_section((double)elapsed_ns / (double)section.count,
                   section.count + warm_up_count(section.count), elapsed_ns);
  }
  return 0;
}
