#include "kernel/tick.h"

#include <ctime>

namespace overdue {

Duration tick_length() {
  timespec resolution{};
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &resolution) != 0 || resolution.tv_sec != 0) return {};
  return Duration(static_cast<std::uint64_t>(resolution.tv_nsec));
}

}  // namespace overdue
