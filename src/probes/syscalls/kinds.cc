#include <fmt/format.h>

#include "core/finding.h"
#include "core/span_kinds.h"

namespace overdue {
namespace {

/// The rest comes from the record of the call.
void describe_call(const span_record& span, Finding& finding) {
  finding.name = fmt::format("syscall_{}", span.subject);
}

constexpr SpanKind call_kinds[] = {{.number = SPAN_SYSCALL,
                                    .name = "syscall",
                                    .sentence = "a system call, from entry to exit",
                                    .owner = SpanOwner::thread,
                                    .describe = describe_call}};

}  // namespace

extern const std::span<const SpanKind> syscalls_kinds;
const std::span<const SpanKind> syscalls_kinds = call_kinds;

}  // namespace overdue
