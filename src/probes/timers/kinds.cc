#include <fmt/format.h>

#include "core/finding.h"
#include "core/span_kinds.h"

namespace overdue {
namespace {

void describe_timer(const span_record&, Finding& finding) {
  finding.title = fmt::format("timer {} late", finding.name);
}

constexpr SpanKind timer_kinds[] = {{.number = SPAN_TIMER,
                                     .name = "timer",
                                     .sentence = "how late a high-resolution timer expires",
                                     .owner = SpanOwner::beginner,
                                     .is_of_function = true,
                                     .summed_by = {.subject = all_bits},
                                     .describe = describe_timer}};

}  // namespace

extern const std::span<const SpanKind> timers_kinds;
const std::span<const SpanKind> timers_kinds = timer_kinds;

}  // namespace overdue
