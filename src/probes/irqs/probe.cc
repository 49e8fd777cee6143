#include "probes/irqs/probe.h"

#include "core/span_schema.h"
#include "irqs.skel.h"

namespace overdue {
namespace {

constexpr SpanHook hooks[] = {
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

std::unique_ptr<SpanProbe> make(const SpanOptions& options, const SharedMaps& shared,
                                const Kernel& kernel) {
  return std::make_unique<SpanProbeOf<irqs_bpf>>(SpanParts{"irqs", hooks, {}}, options, shared,
                                                 kernel);
}

Support supported(const Kernel& kernel) {
  return any_span_support(kernel, hooks);
}

}  // namespace

extern const std::string_view irqs_manual;

const ProbeInfo irqs_probe{
    .name = "irqs",
    .summary = "interrupts: handlers of devices, soft interrupts, vectors of the CPU",
    .manual = irqs_manual,
    .schemas = span_schemas,
    .support = supported};
const SpanSource irqs_spans{.info = &irqs_probe, .hooks = hooks, .make = make};

}  // namespace overdue
