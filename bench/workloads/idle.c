// SPDX-License-Identifier: Apache-2.0
// A process for a tracer to watch while another process is timed. It polls stdin every 5 ms and
// ends with stdin. Its few calls are enough for a tracer that hooks only the calls it has seen.
#include <poll.h>

#include "section.h"

int main(void) {
  struct pollfd input = {.fd = 0, .events = POLLIN};
  say_ready();
  while (poll(&input, 1, 5) == 0) continue;
  return 0;
}
