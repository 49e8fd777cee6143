#include "kernel/span_probe.h"

#include "core/span_schema.h"
#include "irqs.skel.h"

namespace overdue {
namespace {

constexpr SpanHook irq_hooks[] = {
    {"irq_handler_entry", kinds_of({SPAN_IRQ})},
    {"irq_handler_exit", kinds_of({SPAN_IRQ})},
    {"softirq_raise", kinds_of({SPAN_SOFTIRQ_RAISE})},
    {"softirq_entry", kinds_of({SPAN_SOFTIRQ, SPAN_SOFTIRQ_RAISE})},
    {"softirq_exit", kinds_of({SPAN_SOFTIRQ})},
    {"local_timer_entry", kinds_of({SPAN_VECTOR})},
    {"local_timer_exit", kinds_of({SPAN_VECTOR})},
    {"reschedule_entry", kinds_of({SPAN_VECTOR}), true},
    {"reschedule_exit", kinds_of({SPAN_VECTOR}), true},
    {"call_function_entry", kinds_of({SPAN_VECTOR}), true},
    {"call_function_exit", kinds_of({SPAN_VECTOR}), true},
    {"call_function_single_entry", kinds_of({SPAN_VECTOR}), true},
    {"call_function_single_exit", kinds_of({SPAN_VECTOR}), true},
    {"irq_work_entry", kinds_of({SPAN_VECTOR}), true},
    {"irq_work_exit", kinds_of({SPAN_VECTOR}), true},
    {"x86_platform_ipi_entry", kinds_of({SPAN_VECTOR}), true},
    {"x86_platform_ipi_exit", kinds_of({SPAN_VECTOR}), true},
    {"thermal_apic_entry", kinds_of({SPAN_VECTOR}), true},
    {"thermal_apic_exit", kinds_of({SPAN_VECTOR}), true},
    {"threshold_apic_entry", kinds_of({SPAN_VECTOR}), true},
    {"threshold_apic_exit", kinds_of({SPAN_VECTOR}), true},
    {"deferred_error_apic_entry", kinds_of({SPAN_VECTOR}), true},
    {"deferred_error_apic_exit", kinds_of({SPAN_VECTOR}), true},
    {"error_apic_entry", kinds_of({SPAN_VECTOR}), true},
    {"error_apic_exit", kinds_of({SPAN_VECTOR}), true},
    {"spurious_apic_entry", kinds_of({SPAN_VECTOR}), true},
    {"spurious_apic_exit", kinds_of({SPAN_VECTOR}), true},
};

constexpr SpanSource irq_source{
    .name = "irqs", .hooks = irq_hooks, .make_probe = make_span_probe<irqs_bpf>};

}  // namespace

extern const std::string_view irqs_manual;
extern const ProbeInfo irqs_probe;
const ProbeInfo irqs_probe{
    .name = "irqs",
    .summary = "interrupts: of devices, softirqs, local interrupts of the CPU",
    .manual = irqs_manual,
    .schemas = span_schemas,
    .support = span_support<irq_source>,
    .spans = &irq_source};

}  // namespace overdue
