// A sleep in a function that is inlined into another, for --lines. A test finds the lines by the
// comments behind them.
#include <time.h>

namespace {

[[gnu::always_inline]] inline int nap(long milliseconds) {
  timespec time{};
  time.tv_nsec = milliseconds * 1'000'000;
  return clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);  // nap: the call
}

}  // namespace

[[gnu::noinline]] int doze(long milliseconds) {
  const int result = nap(milliseconds);  // doze: nap() is inlined here
  asm volatile("");                      // no tail call
  return result + 1;
}

int main() {
  int sum = 0;
  for (int i = 0; i < 3; ++i) sum += doze(30);  // main: the call of doze()
  return sum == 3 ? 0 : 1;
}
