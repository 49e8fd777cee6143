// reloads HOW TIMES LONGEST_MS [FOLDER]: naps of 5 ms to LONGEST_MS in functions that are at the
// same addresses in turn:
//   library   in libraries that are loaded and unloaded
//   replaced  in one library in FOLDER, whose file is removed and rewritten each time, with other
//             functions
// Prints the begin and the end of each nap, by the program's own clock, and the nap's function.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>

#include "workload.h"

static const char* const functions[] = {"nap_in_a", "nap_in_b", "nap_in_c"};
enum { LIBRARIES = sizeof functions / sizeof *functions };

static void path_of_library(char* path, size_t size, int number) {
  char self[PATH_MAX] = "";
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) fail("readlink");
  snprintf(path, size, "%s/libreloaded_%c.so", dirname(self), 'a' + number);
}

static void copy(const char* from, const char* to) {
  static char bytes[1 << 20];
  const int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0755);
  const ssize_t size = read(in, bytes, sizeof bytes);
  if (in < 0 || out < 0 || size <= 0 || write(out, bytes, (size_t)size) != size) fail(to);
  close(in);
  close(out);
}

static void nap_in(const char* path, const char* function, long ms) {
  void* library = dlopen(path, RTLD_NOW);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    exit(97);
  }
  void (*const* nap)(const struct timespec*) = dlsym(library, "nap");
  const struct timespec duration = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
  const long long begin = now_ns();
  (*nap)(&duration);
  const long long end = now_ns();
  printf("{\"type\": \"nap\", \"begin_ns\": %lld, \"end_ns\": %lld, \"function\": \"%s\"}\n", begin,
         end, function);
  dlclose(library);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "library";
  const long times = number_argument(argc, argv, 2, 100),
             longest = number_argument(argc, argv, 3, 50);
  const bool is_replaced = !strcmp(how, "replaced");
  char current[PATH_MAX] = "", path[PATH_MAX];
  if (argc > 4) snprintf(current, sizeof current, "%s/current.so", argv[4]);
  for (long i = 0; i < times; i++) {
    const int number = (int)(i % LIBRARIES);
    path_of_library(path, sizeof path, number);
    if (is_replaced) {
      unlink(current);
      copy(path, current);
    }
    nap_in(is_replaced ? current : path, functions[number], 5 + i * 7 % (longest - 4));
  }
  return 0;
}
