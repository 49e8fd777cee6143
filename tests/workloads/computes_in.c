// CPU time in known functions: computes_in lock MS | random MEGABYTES
//   lock    a thread holds a lock for MS of CPU time, four fifths of it in crc_block() and the rest
//           in sort_names(), both called by flush(); the main thread waits for that lock. Prints
//           the CPU time in each function
//   random  reads MEGABYTES MB of /dev/urandom in one call of fill_buffer()
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>

#include "workload.h"

#define MS 1000000ll
#define OWN_FUNCTION __attribute__((noinline))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t is_held;
static volatile unsigned checksum;

OWN_FUNCTION static void crc_block(int length) {
  unsigned sum = checksum;
  for (int i = 0; i < length; i++) sum = sum * 31 + (sum >> 7);
  checksum = sum;
}

OWN_FUNCTION static void sort_names(int length) {
  unsigned sum = checksum;
  for (int i = 0; i < length; i++) sum = (sum ^ 0x5bd1e995) * 17;
  checksum = sum;
}

/* Makes no system call, and runs in step with no sampling. Time off the CPU counts for neither
 * function. */
OWN_FUNCTION static void flush(long ms) {
  long long begin = now_ns(), in_crc = 0, in_sort = 0;
  unsigned random = 1;
  while (in_crc + in_sort < ms * MS) {
    random = random * 1103515245 + 12345;
    int length = 1000 + (random >> 16) % 60000;
    bool sorts = in_crc > 4 * in_sort;
    if (sorts)
      sort_names(length);
    else
      crc_block(length);
    long long end = now_ns();
    if (end - begin < MS) *(sorts ? &in_sort : &in_crc) += end - begin;
    begin = end;
  }
  printf("{\"crc_block\": %lld, \"sort_names\": %lld}\n", in_crc, in_sort);
}

static void* hold(void* ms) {
  pthread_mutex_lock(&lock);
  pthread_barrier_wait(&is_held);
  flush((long)ms);
  pthread_mutex_unlock(&lock);
  return 0;
}

static void wait_for_lock(long ms) {
  pthread_t holder;
  pthread_barrier_init(&is_held, 0, 2);
  if (pthread_create(&holder, 0, hold, (void*)ms)) fail("pthread_create");
  pthread_barrier_wait(&is_held);
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  pthread_join(holder, 0);
}

OWN_FUNCTION static void fill_buffer(int fd, char* buffer, size_t bytes) {
  if (read(fd, buffer, bytes) != (ssize_t)bytes) fail("read");
}

int main(int argc, char** argv) {
  long amount = number_argument(argc, argv, 2, 0);
  if (amount <= 0) return 2;
  if (strcmp(argv[1], "lock") == 0) {
    wait_for_lock(amount);
    return 0;
  }
  size_t bytes = (size_t)amount << 20;
  char* buffer = calloc(1, bytes);
  memset(buffer, 1, bytes);
  fill_buffer(open("/dev/urandom", O_RDONLY), buffer, bytes);
  free(buffer);
  return 0;
}
