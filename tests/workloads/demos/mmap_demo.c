// mmap-demo: threads that change one address space at the same time. Each maps a region, lets the
// kernel populate it, which holds the address space's lock (mmap_lock) for reading for long, and
// unmaps it. mmap() and munmap() take that lock for writing: when they are slow, they wait for
// another thread's populate.
#include <sys/mman.h>

#include "demo.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif

static int64_t threads = 4, count = 1000, size = 32 << 20, slow = 10 * MILLISECOND;

enum call { MMAP, POPULATE, MUNMAP, CALLS };
static const char* const call_names[CALLS] = {"mmap", "populate", "munmap"};
static struct {
  atomic_llong calls, slow, took, longest;
} sums[CALLS];

static void account(enum call call, int64_t begin, size_t bytes) {
  const int64_t took = now_ns() - begin;
  sums[call].calls++;
  sums[call].took += took;
  long long longest = sums[call].longest;
  while (took > longest && !atomic_compare_exchange_weak(&sums[call].longest, &longest, took))
    continue;
  if (took < slow) return;
  sums[call].slow++;
  say(call_names[call], begin, ",\"bytes\":%zu,\"took_ns\":%lld", bytes, (long long)took);
}

IN_STACKS void* map_a_region(size_t bytes) {
  void* region = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (region == MAP_FAILED) fail(errno, "cannot map %zu bytes", bytes);
  return region;
}

IN_STACKS void fill_a_region(void* region, size_t bytes) {
  if (madvise(region, bytes, MADV_POPULATE_WRITE) == 0) return;
  if (errno != EINVAL) fail(errno, "cannot fill %zu bytes", bytes);
  for (volatile char* page = region; page < (volatile char*)region + bytes; page += 4096) *page = 1;
}

IN_STACKS void unmap_a_region(void* region, size_t bytes) {
  if (munmap(region, bytes) != 0) fail(errno, "cannot unmap %zu bytes", bytes);
}

IN_STACKS void fight_over_mmap_lock(struct worker* self) {
  for (int64_t i = 0; i < count && !must_stop(); i++) {
    const size_t bytes = (size_t)random_between(&self->random, size / 2 >> 12, size >> 12) << 12;
    int64_t begin = now_ns();
    void* region = map_a_region(bytes);
    account(MMAP, begin, bytes);
    begin = now_ns();
    fill_a_region(region, bytes);
    account(POPULATE, begin, bytes);
    begin = now_ns();
    unmap_a_region(region, bytes);
    account(MUNMAP, begin, bytes);
  }
}

static const struct demo_option options[] = {
    {"--threads", OPTION_COUNT, &threads, NULL, 1, MAX_THREADS, "N",
     "threads mapper-1, ...; 4 if not given"},
    {"--count", OPTION_COUNT, &count, NULL, 1, 1000000, "N",
     "regions of each thread; 1000 if not given"},
    {"--size", OPTION_SIZE, &size, NULL, 8192, 1LL << 32, "BYTES",
     "largest region, the smallest is half of it; 32M if not given"},
    {"--slow", OPTION_TIME, &slow, NULL, 0, 60LL * SECOND, "TIME",
     "prints calls that take this or longer; 10ms if not given"},
    {0}};

int main(int argc, char** argv) {
  parse_options(
      argc, argv,
      "Threads map, fill and unmap memory at the same time, and wait for each other's hold of "
      "the lock of their address space.",
      options);
  say_start();
  static struct worker workers[MAX_THREADS];
  for (int i = 0; i < threads; i++)
    start_worker(&workers[i], "mapper", i + 1, fight_over_mmap_lock);
  for (int i = 0; i < threads; i++) join_worker(&workers[i]);
  for (int i = 0; i < CALLS; i++)
    say("calls", now_ns(),
        ",\"call\":\"%s\",\"calls\":%lld,\"slow\":%lld,\"took_ns\":%lld,\"longest_ns\":%lld",
        call_names[i], (long long)sums[i].calls, (long long)sums[i].slow, (long long)sums[i].took,
        (long long)sums[i].longest);
  say("summary", now_ns(), ",\"regions\":%lld,\"slow_ns\":%lld", (long long)sums[MUNMAP].calls,
      (long long)slow);
  return exit_status();
}
