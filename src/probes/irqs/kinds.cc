#include <fmt/format.h>

#include "core/finding.h"
#include "core/interrupt_names.h"
#include "core/span_kinds.h"

namespace overdue {
namespace {

/// `subject`: the interrupt's number; `detail`: what its handler returned; `text`: its action.
void describe_irq(const span_record& span, Finding& finding) {
  finding.arguments = {fmt::to_string(span.subject)};
  finding.title = fmt::format("irq {} {}", span.subject, finding.name);
}

std::string softirq_of(const span_record& span) {
  return softirq_name(span.subject);
}

constexpr SpanKind interrupt_kinds[] = {
    {.number = SPAN_IRQ,
     .name = "irq",
     .sentence = "the handler of a device's interrupt",
     .owner = SpanOwner::none,
     .summed_by = {.subject = all_bits, .text = true},
     .subject = span_text_or_number,
     .describe = describe_irq},
    {.number = SPAN_SOFTIRQ,
     .name = "softirq",
     .sentence = "the handler of a softirq",
     .owner = SpanOwner::none,
     .summed_by = {.subject = all_bits},
     .subject = softirq_of},
    {.number = SPAN_SOFTIRQ_RAISE,
     .name = "softirq_raise",
     .sentence = "a softirq from being raised to its handler",
     .owner = SpanOwner::beginner,
     .summed_by = {.subject = all_bits},
     .subject = softirq_of},
    {.number = SPAN_VECTOR,
     .name = "vector",
     .sentence = "a local interrupt: local timer, reschedule, …",
     .owner = SpanOwner::none,
     .summed_by = {.subject = all_bits, .text = true},
     .subject = span_text_or_number},
};

}  // namespace

extern const std::span<const SpanKind> irqs_kinds;
const std::span<const SpanKind> irqs_kinds = interrupt_kinds;

}  // namespace overdue
