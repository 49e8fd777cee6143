#include <fmt/format.h>

#include "base/text.h"
#include "core/finding.h"
#include "core/span_kinds.h"

namespace overdue {
namespace {

/// `subject`: the work's function; `text`: the workqueue.
void describe_work(const span_record& span, Finding& finding) {
  const std::string queue = printable(span_text(span));
  if (!queue.empty()) finding.arguments = {queue};
  finding.title =
      fmt::format("{} {} of {}", finding.span, finding.name, queue.empty() ? "a workqueue" : queue);
}

constexpr SpanKind work_kinds[] = {
    {.number = SPAN_WORK_QUEUED,
     .name = "work_queued",
     .sentence = "work for the kernel's workers from queue to start",
     .owner = SpanOwner::both,
     .is_of_function = true,
     .summed_by = {.subject = all_bits},
     .describe = describe_work},
    {.number = SPAN_WORK,
     .name = "work",
     .sentence = "such work from start to end",
     .owner = SpanOwner::thread,
     .is_of_function = true,
     .summed_by = {.subject = all_bits},
     .describe = describe_work},
};

}  // namespace

extern const std::span<const SpanKind> workqueues_kinds;
const std::span<const SpanKind> workqueues_kinds = work_kinds;

}  // namespace overdue
