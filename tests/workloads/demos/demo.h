// Shared by the demos: programs that are late on purpose and say themselves by how much. What they
// print, one JSON object a line, is described in docs/demos.md.
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

// A function that is to be found in stacks by its name: never inlined or cloned. Like all that are
// not static it is exported, so that a stripped program still names it.
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
  int64_t least, most;  // what is allowed, both included
  const char* metavar;
  const char* help;  // what it does, and the default
};

// What every demo takes besides its own options.
extern int64_t seed;      // --seed
extern int64_t duration;  // --duration, -d: the demo ends by itself after this time

// Takes the command line apart; prints the help and ends for --help, ends with status 2 and a
// sentence where something is wrong. `what` is what the demo does; `options` ends with a null name.
void parse_options(int argc, char** argv, const char* what, const struct demo_option* options);

// A wrong command line: "NAME: …" and a hint on standard error, exit status 2.
_Noreturn void usage_error(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Cannot go on: "NAME: …: strerror(error)" on standard error, exit status 1. An error of 0 is left
// out.
_Noreturn void fail(int error, const char* format, ...) __attribute__((format(printf, 2, 3)));

// "NAME: …" on standard error.
void note(const char* format, ...) __attribute__((format(printf, 1, 2)));

// --- truths ---

// Prints {"type":"TYPE","time_ns":…,"tid":…,"thread":"…"<rest>} as one write, so that lines of
// several threads do not mix. `rest` starts with a comma or is empty. Where standard output fails,
// the demo stops.
void say(const char* type, int64_t time_ns, const char* rest, ...)
    __attribute__((format(printf, 3, 4)));

// The first line: which demo, which process, which seed.
void say_start(void);

// Ends the demo: 1 where standard output failed, else 0.
int exit_status(void);

// A path as it may stand between quotes of JSON; valid until the next call.
const char* json_text(const char* text);

// --- time ---

int64_t now_ns(void);         // CLOCK_MONOTONIC
int64_t thread_cpu_ns(void);  // CLOCK_THREAD_CPUTIME_ID

// Time the kernel says the calling thread has waited on a run queue, by a clock that no tick
// rounds; negative where it does not say. One system call, but for a thread's first time.
int64_t schedstat_runqueue_ns(void);

extern atomic_bool stopping;  // set by a failure or a signal handler
int64_t deadline_ns(void);    // when --duration has passed since say_start()
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
// Starts a thread called `name`, or `name`-`number` where number is not 0, which runs work(worker).
void start_worker(struct worker* worker, const char* name, int number,
                  void (*work)(struct worker*));
void join_worker(struct worker* worker);
// The name of the calling thread: the worker's, or the program's.
const char* thread_name(void);
pid_t thread_id(void);

// Binds the calling thread, and those it starts, to one CPU; -1: the lowest one it may run on.
// Returns which. Ends the demo where that is refused.
int bind_to_cpu(int64_t cpu);
