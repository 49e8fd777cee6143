// burns THREADS MS [DEPTH]: each thread, called "burner-i", uses MS of CPU time: 70 % in
// spin_seventy(), 20 % in spin_twenty(), 10 % in spin_ten(), called by DEPTH nested calls of
// descend(). Prints the CPU time in each function, in all threads, and of each thread, in ns.
#include <pthread.h>
#include <sys/prctl.h>

#include "workload.h"

#define MS 1000000ll
#define THREADS_MAX 16
#define OWN_FUNCTION __attribute__((noinline)) static

struct burner {
  pthread_t thread;
  long number, depth;
  long long limit_ns, spent_ns[3];
};

static volatile unsigned result;

OWN_FUNCTION void spin_seventy(int length) {
  unsigned sum = result;
  for (int i = 0; i < length; i++) sum = sum * 31 + (sum >> 7);
  result = sum;
}

OWN_FUNCTION void spin_twenty(int length) {
  unsigned sum = result;
  for (int i = 0; i < length; i++) sum = (sum ^ 0x5bd1e995) * 17;
  result = sum;
}

OWN_FUNCTION void spin_ten(int length) {
  unsigned sum = result;
  for (int i = 0; i < length; i++) sum = (sum + 0x9e3779b9) ^ (sum << 3);
  result = sum;
}

static long long cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

// The function that lacks most of its share runs next, for a random time: in step with no sampling.
OWN_FUNCTION void burn(struct burner* self) {
  static void (*const functions[])(int) = {spin_seventy, spin_twenty, spin_ten};
  static const int percent[] = {70, 20, 10};
  unsigned random = (unsigned)self->number + 1;
  long long begin = cpu_ns(), all = 0;
  while (all < self->limit_ns) {
    int next = 0;
    long long lack[3];
    for (int i = 0; i < 3; i++) {
      lack[i] = all * percent[i] / 100 - self->spent_ns[i];
      if (lack[i] > lack[next]) next = i;
    }
    random = random * 1103515245 + 12345;
    functions[next](10000 + (int)((random >> 16) % 200000));
    long long end = cpu_ns();
    self->spent_ns[next] += end - begin;
    all += end - begin;
    begin = end;
  }
}

OWN_FUNCTION void descend(struct burner* self, long depth) {
  if (depth <= 0)
    burn(self);
  else
    descend(self, depth - 1);
  __asm__ volatile("");  // no tail call
}

static void* start(void* argument) {
  struct burner* self = argument;
  char name[16];
  snprintf(name, sizeof name, "burner-%ld", self->number);
  prctl(PR_SET_NAME, name);
  descend(self, self->depth);
  return NULL;
}

int main(int argc, char** argv) {
  static struct burner burners[THREADS_MAX];
  long threads = number_argument(argc, argv, 1, 1), ms = number_argument(argc, argv, 2, 1000);
  if (threads < 1 || threads > THREADS_MAX || ms < 1) return 2;
  for (long i = 0; i < threads; i++) {
    burners[i].number = i;
    burners[i].depth = number_argument(argc, argv, 3, 0);
    burners[i].limit_ns = ms * MS;
    if (pthread_create(&burners[i].thread, NULL, start, &burners[i])) fail("pthread_create");
  }
  long long sums[3] = {0, 0, 0};
  for (long i = 0; i < threads; i++) {
    pthread_join(burners[i].thread, NULL);
    for (int f = 0; f < 3; f++) sums[f] += burners[i].spent_ns[f];
  }
  printf("{\"spin_seventy\": %lld, \"spin_twenty\": %lld, \"spin_ten\": %lld}\n", sums[0], sums[1],
         sums[2]);
  return 0;
}
