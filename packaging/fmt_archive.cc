// libfmt.a, which Debian does not have: the functions that fmt's headers define where no library
// does. The build keeps those that this file does not use (-fkeep-inline-functions).
#define FMT_HEADER_ONLY 1
#include <fmt/chrono.h>
#include <fmt/format.h>
