#include "live/why_probes.h"

namespace overdue {

StallOptions why_probes(const WhyPlan& plan, bool whole_machine) {
  StallOptions options;
  options.purpose = "find causes";
  options.thresholds.general = plan.threshold;
  options.spans = parse_spans({"syscall", "offcpu", "tcp_connect"});
  options.spans.all = true;  // what this kernel cannot measure is left out, and said
  options.timeout = plan.timeout;
  options.totals = options.call_sums = options.profiles = options.disk_use = true;
  options.adapts = true;
  options.whole_machine = whole_machine;
  return options;
}

}  // namespace overdue
