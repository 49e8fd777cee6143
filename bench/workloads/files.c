// SPDX-License-Identifier: Apache-2.0
// Opens a file, reads 64 bytes of it and closes it, in a loop: bench_files CPU. The file is the
// program itself, which exists and is cached. One operation is three system calls.
#include <fcntl.h>
#include <unistd.h>

#include "section.h"

static void visit(const char* path, uint64_t count) {
  char bytes[64];
  for (uint64_t i = 0; i < count; i++) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) give_up(path);
    if (read(file, bytes, sizeof(bytes)) != sizeof(bytes)) give_up("read");
    close(file);
  }
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fputs("usage: bench_files CPU\n", stderr);
    return 2;
  }
  pin_to_cpu(atoi(argv[1]));
  say_ready();
  struct section section;
  while (next_section(&section)) {
    visit(argv[0], warm_up_count(section.count));
    uint64_t begin_ns = monotonic_ns();
    visit(argv[0], section.count);
    uint64_t elapsed_ns = monotonic_ns() - begin_ns;
    report_section((double)elapsed_ns / (double)section.count,
                   section.count + warm_up_count(section.count), elapsed_ns);
  }
  return 0;
}
