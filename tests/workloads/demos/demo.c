#include "demo.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

int64_t seed = 1;
int64_t duration = 10LL * SECOND;
atomic_bool stopping;

static int64_t begin_ns;
static atomic_bool output_failed;
static _Thread_local const struct worker* this_worker;
static _Thread_local pid_t this_tid;

int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * (int64_t)SECOND + time.tv_nsec;
}

int64_t thread_cpu_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * (int64_t)SECOND + time.tv_nsec;
}

int64_t schedstat_runqueue_ns(void) {
  static _Thread_local int file = -2;  // -2: not yet opened; stays open until the process ends
  if (file == -2) file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  char text[128];
  const ssize_t length = pread(file, text, sizeof text - 1, 0);
  text[length > 0 ? length : 0] = '\0';
  long long on_cpu, waited, times;
  if (sscanf(text, "%lld %lld %lld", &on_cpu, &waited, &times) != 3) return -1;
  return times > 0 ? waited : -1;  // all are 0 without CONFIG_SCHED_INFO
}

int64_t deadline_ns(void) {
  return begin_ns + duration;
}

bool must_stop(void) {
  return atomic_load_explicit(&stopping, memory_order_relaxed) || now_ns() >= deadline_ns();
}

void fail(int error, const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (error != 0)
    note("%s: %s", text, strerror(error));
  else
    note("%s", text);
  exit(EXIT_FAILURE);
}

void note(const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
}

// --- truths ---

// Each line is one write, because the kernel does not mix the writes of several threads, in a pipe,
// a file or a terminal. A lock would add waits that are not part of the demo.
static void write_line(const char* line, size_t length) {
  while (length > 0) {
    const ssize_t written = write(STDOUT_FILENO, line, length);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      if (!atomic_exchange(&output_failed, true) && errno != EPIPE)
        note("cannot write to standard output: %s", strerror(errno));
      stopping = true;
      return;
    }
    line += written;
    length -= (size_t)written;
  }
}

void say(const char* type, int64_t time_ns, const char* rest, ...) {
  if (output_failed) return;
  char line[2048];
  const size_t room = sizeof line - 3;  // without the end of the line
  int length =
      snprintf(line, room, "{\"type\":\"%s\",\"time_ns\":%lld,\"tid\":%d,\"thread\":\"%s\"", type,
               (long long)time_ns, thread_id(), thread_name());
  va_list arguments;
  va_start(arguments, rest);
  length += vsnprintf(line + length, room - (size_t)length, rest, arguments);
  va_end(arguments);
  if ((size_t)length >= room) fail(0, "a line that is too long: %s", type);
  memcpy(line + length, "}\n", 2);
  write_line(line, (size_t)length + 2);
}

void say_start(void) {
  signal(SIGPIPE, SIG_IGN);  // so that the demo ends in order when its reader is gone
  begin_ns = now_ns();
  say("start", begin_ns, ",\"demo\":\"%s\",\"pid\":%d,\"seed\":%lld,\"duration_ns\":%lld",
      json_text(program_invocation_short_name), getpid(), (long long)seed, (long long)duration);
}

int exit_status(void) {
  return output_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

const char* json_text(const char* text) {
  static _Thread_local char result[1024];
  size_t length = 0;
  for (; *text != '\0' && length + 7 < sizeof result; text++) {
    const unsigned char byte = (unsigned char)*text;
    if (byte == '"' || byte == '\\' || byte < 0x20)
      length += (size_t)snprintf(result + length, 7, "\\u%04x", byte);
    else
      result[length++] = *text;
  }
  result[length] = '\0';
  return result;
}

// --- chance: splitmix64 ---

static uint64_t next_random(struct random* random) {
  uint64_t z = random->state += 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

struct random random_for(uint64_t stream) {
  struct random of_seed = {.state = (uint64_t)seed};
  struct random result = {.state = next_random(&of_seed) ^ (stream * 0xd1342543de82ef95ULL)};
  return result;
}

int64_t random_between(struct random* random, int64_t least, int64_t most) {
  return least + (int64_t)(next_random(random) % (uint64_t)(most - least + 1));
}

// --- threads ---

IN_STACKS void* run_worker(void* argument) {
  struct worker* worker = argument;
  this_worker = worker;
  worker->tid = thread_id();
  prctl(PR_SET_NAME, worker->name);
  worker->work(worker);
  return NULL;
}

void start_worker(struct worker* worker, const char* name, int number,
                  void (*work)(struct worker*)) {
  if (number > 0)
    snprintf(worker->name, sizeof worker->name, "%s-%d", name, number);
  else
    snprintf(worker->name, sizeof worker->name, "%s", name);
  worker->number = number;
  worker->work = work;
  worker->random = random_for((uint64_t)number);
  const int error = pthread_create(&worker->thread, NULL, run_worker, worker);
  if (error != 0) fail(error, "cannot start a thread");
}

void join_worker(struct worker* worker) {
  const int error = pthread_join(worker->thread, NULL);
  if (error != 0) fail(error, "cannot wait for a thread");
}

const char* thread_name(void) {
  return this_worker != NULL ? this_worker->name : program_invocation_short_name;
}

pid_t thread_id(void) {
  if (this_tid == 0) this_tid = (pid_t)syscall(SYS_gettid);
  return this_tid;
}

int bind_to_cpu(int64_t cpu) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) fail(errno, "cannot learn which CPUs there are");
  size_t wanted = cpu < 0 ? 0 : (size_t)cpu;
  while (cpu < 0 && wanted < CPU_SETSIZE && !CPU_ISSET(wanted, &set)) wanted++;
  if (!CPU_ISSET(wanted, &set)) fail(0, "there is no CPU %zu, or it is not allowed here", wanted);
  CPU_ZERO(&set);
  CPU_SET(wanted, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) fail(errno, "cannot stay on CPU %zu", wanted);
  return (int)wanted;
}
