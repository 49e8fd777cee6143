// SPDX-License-Identifier: Apache-2.0
// Prints the CLOCK_MONOTONIC time at which main() was reached, to measure how long a tracer takes
// to start it.
#include "section.h"

int main(void) {
  printf("%llu\n", (unsigned long long)monotonic_ns());
  return 0;
}
