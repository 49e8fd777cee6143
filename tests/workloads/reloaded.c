// The library for `reloads`: built several times, with other functions at the same addresses.
#define _GNU_SOURCE
#include "nap_in_function.h"

void (*const nap)(const struct timespec*) = NAP;
