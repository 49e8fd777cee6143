// SPDX-License-Identifier: Apache-2.0
// A byte goes back and forth between two threads through two pipes: bench_pipe CPU [PRIORITY]. With
// a priority, the threads are SCHED_FIFO, and no other thread runs in between. Both threads are
// pinned to the same CPU, because a wake-up across CPUs may cost more than everything else
// together. One operation is a round trip: two writes, two reads and two context switches.
#include <pthread.h>
#include <unistd.h>

#include "section.h"

struct ends {
  int read_from;
  int write_to;
  int cpu;
};

static void* echo(void* argument) {
  struct ends* ends = argument;
  char byte;
  pin_to_cpu(ends->cpu);
  while (read(ends->read_from, &byte, 1) == 1 && byte) {
    if (write(ends->write_to, &byte, 1) != 1) give_up("write");
  }
  return NULL;
}

static void round_trips(const struct ends* ends, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    char byte = 1;
    if (write(ends->write_to, &byte, 1) != 1) give_up("write");
    if (read(ends->read_from, &byte, 1) != 1) give_up("read");
  }
}

int main(int argc, char** argv) {
  int there[2], back[2];
  if (argc != 2 && argc != 3) {
    fputs("usage: bench_pipe CPU [PRIORITY]\n", stderr);
    return 2;
  }
  int cpu = atoi(argv[1]);
  pin_to_cpu(cpu);
  if (argc == 3) {  // the second thread inherits the policy
    struct sched_param parameters = {.sched_priority = atoi(argv[2])};
    if (sched_setscheduler(0, SCHED_FIFO, &parameters) != 0) give_up("sched_setscheduler");
  }
  if (pipe(there) != 0 || pipe(back) != 0) give_up("pipe");
  struct ends ours = {back[0], there[1], cpu};
  struct ends theirs = {there[0], back[1], cpu};
  pthread_t peer;
  if (pthread_create(&peer, NULL, echo, &theirs) != 0) give_up("pthread_create");
  say_ready();
  struct section section;
  while (next_section(&section)) {
    round_trips(&ours, warm_up_count(section.count));
    uint64_t begin_ns = monotonic_ns();
    round_trips(&ours, section.count);
    uint64_t elapsed_ns = monotonic_ns() - begin_ns;
    report_section((double)elapsed_ns / (double)section.count,
                   section.count + warm_up_count(section.count), elapsed_ns);
  }
  char stop = 0;
  if (write(ours.write_to, &stop, 1) != 1) give_up("write");
  pthread_join(peer, NULL);
  return 0;
}
