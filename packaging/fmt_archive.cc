// Replaces libfmt.a, which Debian does not have: here fmt's headers define the functions of the
// library. The build keeps functions that this file does not use (-fkeep-inline-functions).
#define FMT_HEADER_ONLY 1
#include <fmt/chrono.h>
#include <fmt/format.h>
