// io-demo: creates files in a folder of its own, writes them and syncs them to the disk. Removes
// the folder and all its files at the end, also after SIGINT, SIGTERM and SIGHUP.
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "demo.h"

static int64_t count = 100, size = 1 << 20;
static const char* parent;

static char folder[PATH_MAX];
static int folder_file = -1;
// Files first_file to files_made - 1 exist. Their number is limited, so that removing them at the
// end is quick, and the disk does not fill up.
enum { FILES_KEPT = 100 };
static int64_t first_file, files_made;
static volatile sig_atomic_t stopped_by;
static char block[128 << 10];

enum call { OPEN, WRITE, FSYNC, UNLINK, CALLS };
static const char* const call_names[CALLS] = {"open", "write", "fsync", "unlink"};
static struct {
  int64_t calls, took, longest;
} sums[CALLS];

// `more`: members that only some calls have, each behind a comma.
static void account(enum call call, int64_t begin, int64_t took, const char* name, int64_t bytes,
                    const char* more) {
  sums[call].calls++;
  sums[call].took += took;
  if (took > sums[call].longest) sums[call].longest = took;
  say(call_names[call], begin, ",\"file\":\"%s\",\"bytes\":%lld,\"took_ns\":%lld%s", name,
      (long long)bytes, (long long)took, more);
}

static void file_name(char* name, size_t room, int64_t number) {
  snprintf(name, room, "file-%lld", (long long)number);
}

static void remove_first_file(void) {
  char name[32];
  file_name(name, sizeof name, first_file++);
  const int64_t begin = now_ns();
  if (unlinkat(folder_file, name, 0) == 0)
    account(UNLINK, begin, now_ns() - begin, name, 0, "");
  else
    note("cannot remove %s/%s: %s", folder, name, strerror(errno));
}

// Registered with atexit(), so it also runs after fail().
static void remove_all(void) {
  if (folder_file < 0) return;
  while (first_file < files_made) remove_first_file();
  close(folder_file);
  folder_file = -1;
  if (rmdir(folder) != 0) note("cannot remove %s: %s", folder, strerror(errno));
}

IN_STACKS int create_a_file(const char* name) {
  const int64_t begin = now_ns();
  const int file = openat(folder_file, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) fail(errno, "cannot create %s/%s", folder, name);
  files_made++;
  account(OPEN, begin, now_ns() - begin, name, 0, "");
  return file;
}

IN_STACKS void write_a_file(int file, const char* name, int64_t bytes) {
  while (bytes > 0 && !must_stop()) {
    const size_t wanted = bytes < (int64_t)sizeof block ? (size_t)bytes : sizeof block;
    const int64_t begin = now_ns();
    const ssize_t written = write(file, block, wanted);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno, "cannot write %s/%s", folder, name);
    account(WRITE, begin, now_ns() - begin, name, written, "");
    bytes -= written;
  }
}

// How often the calling thread has given up the CPU to wait for something.
static int64_t waits_so_far(void) {
  struct rusage usage;
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nvcsw : 0;
}

// The kernel's figures are read outside the timed part, except the CPU time, which must not exceed
// the time of the call.
IN_STACKS void bring_to_the_disk(int file, const char* name) {
  const int64_t waits = waits_so_far(), runqueue = schedstat_runqueue_ns(), begin = now_ns(),
                cpu = thread_cpu_ns();
  const int result = fsync(file);
  const int error = errno;
  const int64_t used = thread_cpu_ns() - cpu, took = now_ns() - begin,
                waited = schedstat_runqueue_ns() - runqueue;
  if (result != 0 && error != EINTR) fail(error, "cannot fsync %s/%s", folder, name);
  char more[128], schedstat[32] = "null";
  if (runqueue >= 0) snprintf(schedstat, sizeof schedstat, "%lld", (long long)waited);
  snprintf(more, sizeof more, ",\"cpu_ns\":%lld,\"runqueue_ns\":%s,\"waits\":%lld", (long long)used,
           schedstat, (long long)(waits_so_far() - waits));
  account(FSYNC, begin, took, name, 0, more);
}

IN_STACKS void make_files(struct random* random) {
  for (int64_t i = 0; i < count && !must_stop(); i++) {
    char name[32];
    file_name(name, sizeof name, i);
    const int file = create_a_file(name);
    write_a_file(file, name, random_between(random, size / 2, size));
    bring_to_the_disk(file, name);
    close(file);
    if (files_made - first_file > FILES_KEPT) remove_first_file();
  }
}

static void on_signal(int number) {
  stopped_by = number;
  stopping = true;
}

static void catch_signals(void) {
  const int signals[] = {SIGINT, SIGTERM, SIGHUP};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigaction(signals[i], NULL, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signals[i], &action, NULL);  // respects nohup
  }
}

static void make_folder(void) {
  const int length = snprintf(folder, sizeof folder, "%s/io-demo.XXXXXX", parent);
  if (length >= (int)sizeof folder) fail(ENAMETOOLONG, "cannot create a folder in --dir");
  if (mkdtemp(folder) == NULL) fail(errno, "cannot create a folder in %s", parent);
  folder_file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (folder_file < 0) {
    const int error = errno;
    rmdir(folder);
    fail(error, "cannot open %s", folder);
  }
  atexit(remove_all);
  struct statfs facts;
  const long tmpfs = 0x01021994;
  if (fstatfs(folder_file, &facts) == 0 && facts.f_type == tmpfs)
    note("%s is in memory, where fsync has nothing to wait for; try --dir with a folder on a disk",
         parent);
}

static const struct demo_option options[] = {
    {"--dir", OPTION_TEXT, NULL, &parent, 0, 0, "FOLDER",
     "where it makes a folder of its own; $TMPDIR or /var/tmp if not given"},
    {"--count", OPTION_COUNT, &count, NULL, 1, 1000000, "N", "files; 100 if not given"},
    {"--size", OPTION_SIZE, &size, NULL, 2, 1LL << 32, "BYTES",
     "largest file, the smallest is half of it; 1M if not given"},
    {0}};

int main(int argc, char** argv) {
  parent = getenv("TMPDIR");
  if (parent == NULL || *parent == '\0') parent = "/var/tmp";
  parse_options(argc, argv,
                "Creates files, writes them, waits until they are on the disk, and removes them.",
                options);
  catch_signals();
  make_folder();
  say_start();
  struct random random = random_for(0);
  make_files(&random);
  remove_all();
  for (int i = 0; i < CALLS; i++)
    say("calls", now_ns(), ",\"call\":\"%s\",\"calls\":%lld,\"took_ns\":%lld,\"longest_ns\":%lld",
        call_names[i], (long long)sums[i].calls, (long long)sums[i].took,
        (long long)sums[i].longest);
  say("summary", now_ns(), ",\"files\":%lld,\"folder\":\"%s\"", (long long)files_made,
      json_text(folder));
  if (stopped_by != 0) {
    signal(stopped_by, SIG_DFL);
    raise(stopped_by);  // so that the parent sees the signal
  }
  return exit_status();
}
