#include "live/recorded_stalls.h"

#include "base/error.h"
#include "live/span_choice.h"
#include "source/kept_options.h"
#include "target/cpu_list.h"

namespace overdue {

void take_recorded(const SessionInfo& info, StallViewOptions& options) {
  try {
    const SpanChoice spans = parse_spans(info.spans);
    options.thresholds = parse_thresholds(info.thresholds, spans.pair_names());
    options.spans = spans.kinds;
    options.is_chosen = names_calls(info.only);
    if (const std::uint64_t timeout_ns = kept_number(info.options, "timeout_ns", 0))
      options.timeout = Duration(timeout_ns);
    if (!info.only.empty()) options.only = parse_syscall_set(info.only, info.names);
    if (info.target.cpus.empty()) return;
    options.cpus = parse_cpu_list(info.target.cpus, cpus_of_any_machine());
  } catch (const Error&) {
    options.thresholds = {};
  }
}

}  // namespace overdue
