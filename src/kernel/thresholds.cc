#include "kernel/thresholds.h"

#include <algorithm>

#include "kernel/glob.h"
#include "kernel/membership.h"

namespace overdue {
namespace {

u64 in_ns(Duration time) {
  return static_cast<u64>(time.count());
}

}  // namespace

// While a kind is off, programs see neither begins nor ends of its spans.
void set_threshold(session_control& control, span_kind kind, Duration threshold) {
  u64& word = control.threshold_ns[kind];
  if (__atomic_load_n(&word, __ATOMIC_RELAXED) == 0)
    __atomic_store_n(&control.since_ns[kind], KernelClock::now_ns(), __ATOMIC_SEQ_CST);
  __atomic_store_n(&word, in_ns(threshold), __ATOMIC_RELEASE);
}

// A word is written atomically, the globs are not. While globs change, programs do without them: a
// program that begins sees a count of 0 and looks no further, and programs that saw the old count
// have ended before the first byte is written. Meanwhile, programs report the spans of all threads
// that pass the least threshold, and user space decides: no span is missed. The count is written
// last, after the globs and thresholds.
void forget_thread_thresholds(session_control& control) {
  if (__atomic_load_n(&control.by_name.count, __ATOMIC_RELAXED) == 0) return;
  __atomic_store_n(&control.by_name.count, 0, __ATOMIC_SEQ_CST);
  wait_for_running_programs();
}

void set_thread_thresholds(session_control& control, const ThreadThresholds& thresholds) {
  thread_thresholds& all = control.by_name;
  const auto& by_glob = thresholds.by_glob;
  const std::size_t count = std::min<std::size_t>(by_glob.size(), THREAD_THRESHOLDS);
  for (std::size_t i = 0; i < count; ++i) {
    all.globs[i] = compile_glob(by_glob[i].first);
    all.threshold_ns[i] = in_ns(by_glob[i].second);
  }
  for (std::size_t kind = 0; kind < SPAN_KINDS_MAX; ++kind) {
    std::optional<Duration> least = thresholds.others[kind];
    for (std::size_t i = count; i < by_glob.size(); ++i)
      least = std::min(least.value_or(Duration::max()), by_glob[i].second);
    all.others_ns[kind] = least ? in_ns(*least) : 0;
  }
  __atomic_store_n(&all.count, static_cast<u32>(count), __ATOMIC_RELEASE);
}

}  // namespace overdue
