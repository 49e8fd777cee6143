// Shared by the demos: programs that are late on purpose and print by how much. docs/demos.md
// describes their output, one JSON object a line.
#pragma once

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

// For a function that stacks must name: never inlined or cloned. It is not static, so it is
// exported, and a stripped program still names it.
#if defined(__clang__)
#define IN_STACKS __attribute__((noinline))
#else
#define IN_STACKS __attribute__((noinline, noclone))
#endif

enum { SECOND = 1000000000, MILLISECOND = 1000000, MICROSECOND = 1000 };
enum { EXIT_USAGE = 2, MAX_THREADS = 64 };

// --- the command line ---

enum option_kind { OPTION_TIME, OPTION_COUNT, OPTION_SIZE, OPTION_TEXT, OPTION_FLAG };

struct demo_option {
  const char* name;  // "--max"
  enum option_kind kind;
  int64_t* number;      // times in ns, sizes in bytes, flags 0 or 1
  const char** text;    // OPTION_TEXT
  int64_t least, most;  // allowed range, both included
  const char* metavar;
  const char* help;  // effect and default
};

// The options that every demo takes besides its own.
extern int64_t seed;      // --seed
extern int64_t duration;  // --duration, -d: the demo ends by itself after this time

// Parses the command line. For --help, prints the help and exits; on an error, exits with status 2
// and a message. `what` describes the demo; `options` ends with a null name.
void parse_options(int argc, char** argv, const char* what, const struct demo_option* options);

// A wrong command line: "NAME: …" and a hint on standard error, exit status 2.
_Noreturn void usage_error(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Ends the demo: "NAME: …: strerror(error)" on standard error, exit status 1. Omits an error of 0.
_Noreturn void fail(int error, const char* format, ...) __attribute__((format(printf, 2, 3)));

// "NAME: …" on standard error.
void note(const char* format, ...) __attribute__((format(printf, 1, 2)));

// --- truths ---

// Prints {"type":"TYPE","time_ns":…,"tid":…,"thread":"…"<rest>} as one write, so that lines of
// several threads do not mix. `rest` starts with a comma or is empty. If the write fails, the demo
// stops.
void say(const char* type, int64_t time_ns, const char* rest, ...)
    __attribute__((format(printf, 3, 4)));

// The first line: which demo, which process, which seed.
void say_start(void);

// The exit status of the demo: 1 if standard output failed, else 0.
int exit_status(void);

// A path, escaped for a JSON string; valid until the next call.
const char* json_text(const char* text);

// --- time ---

int64_t now_ns(void);         // CLOCK_MONOTONIC
int64_t thread_cpu_ns(void);  // CLOCK_THREAD_CPUTIME_ID

// Time in ns that the calling thread has waited in a run queue, from the kernel, by a clock that no
// tick rounds; negative if the kernel does not report it. One system call, except for a thread's
// first time.
int64_t schedstat_runqueue_ns(void);

extern atomic_bool stopping;  // set by a failure or a signal handler
int64_t deadline_ns(void);    // the end of --duration, counted from say_start()
bool must_stop(void);         // stopping, or past the deadline

// --- chance, the same for the same seed ---

struct random {
  uint64_t state;
};
struct random random_for(uint64_t stream);  // each stream is independent of the others
int64_t random_between(struct random* random, int64_t least, int64_t most);

// --- threads ---

struct worker {
  char name[16];
  int number;
  pid_t tid;
  pthread_t thread;
  struct random random;
  void (*work)(struct worker*);
};
// Starts a thread that runs work(worker), called `name`, or `name`-`number` if number is not 0.
void start_worker(struct worker* worker, const char* name, int number,
                  void (*work)(struct worker*));
void join_worker(struct worker* worker);
// The name of the calling thread: the worker's, or the program's.
const char* thread_name(void);
pid_t thread_id(void);

// Binds the calling thread, and the threads it starts, to a CPU; -1: the lowest CPU it may run on.
// Returns the CPU. Ends the demo if the kernel refuses.
int bind_to_cpu(int64_t cpu);
