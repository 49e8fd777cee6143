// exec_chain TIMES LONGEST_MS: naps of 5 ms to LONGEST_MS, each in the next of four programs that
// execute each other. Two of them are always at the same addresses, with different functions there.
// Each program prints the begin and the end of its nap, by its own clock, and the nap's function.
// NAP, NEXT and PADDING differ between the four.
#define _GNU_SOURCE
#include <libgen.h>
#include <limits.h>

#include "nap_in_function.h"

#define TEXT(x) TEXT_OF(x)
#define TEXT_OF(x) #x

int main(int argc, char** argv) {
  const long left = number_argument(argc, argv, 1, 100),
             longest = number_argument(argc, argv, 2, 50);
  const long ms = 5 + left * 7 % (longest - 4);
  const struct timespec duration = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
  const long long begin = now_ns();
  NAP(&duration);
  const long long end = now_ns();
  printf("{\"type\": \"nap\", \"begin_ns\": %lld, \"end_ns\": %lld, \"function\": \"%s\"}\n", begin,
         end, TEXT(NAP));
  fflush(stdout);
  if (left <= 1) return 0;
  char self[PATH_MAX] = "", path[PATH_MAX + 16], rest[24], most[24];
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) fail("readlink");
  snprintf(path, sizeof path, "%s/%s", dirname(self), TEXT(NEXT));
  snprintf(rest, sizeof rest, "%ld", left - 1);
  snprintf(most, sizeof most, "%ld", longest);
  execl(path, path, rest, most, NULL);
  fail(path);
}
