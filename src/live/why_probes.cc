#include "live/why_probes.h"

#include <cstdint>
#include <set>

#include "live/disk_limits.h"
#include "live/file_locks.h"
#include "live/opened_sockets.h"
#include "live/other_ends.h"
#include "live/other_sides.h"
#include "live/priorities.h"
#include "live/reached_limits.h"
#include "probes/spans.h"

namespace overdue {

StallOptions why_probes(const WhyPlan& plan, bool whole_machine) {
  StallOptions options;
  options.purpose = "find causes";
  options.thresholds.general = plan.threshold;
  options.spans = parse_spans({"syscall", "offcpu", "tcp_connect", "tcp_answer", "unix_answer"});
  options.spans.optional =
      options.spans.kind_set();  // what this kernel lacks is left out, and said
  options.timeout = plan.timeout;
  options.totals = options.behind = options.call_sums = options.profiles = options.disk_use = true;
  options.adapts = true;
  options.whole_machine = whole_machine;
  return options;
}

bool sees_unix_questions(const Kernel& kernel) {
  const SpanSource* source = span_source(SPAN_UNIX_ANSWER);
  return source && source->support(kernel, SPAN_UNIX_ANSWER).yes;
}

void Surroundings::look(const WhyAnalysis& analysis, SessionInfo& info) const {
  const std::vector<OffcpuRow> threads = analysis.threads();
  keep_file_locks(file_locks_of(analysis.lock_waiters(info)), info);
  keep_other_sides(other_sides_of(analysis.open_waits(threads)), info);
  keep_remarks(of_limit, reached_limits(analysis.shortages(info)), info);
  keep_remarks(of_memory_limit, memory_limits_.reached_by(analysis.reclaimers()), info);
  const std::set<std::uint32_t> disk_waiters = analysis.disk_waiters();
  keep_remarks(of_disk_limit, disk_limits(disk_waiters), info);
  if (!disk_waiters.empty()) keep_remarks(of_disk_writer, disk_writers_.since_begin(), info);
  keep_remarks(of_bound_thread, bound_threads_.among(threads), info);
  keep_remarks(of_lower_priority, lower_priorities(threads), info);
  keep_opened_sockets(opened_sockets(analysis.sockets()), info);
  keep_other_ends(find_other_ends(analysis.awaited_ends()), info);
}

}  // namespace overdue
