#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/finding.h"
#include "core/span_kinds.h"

namespace overdue {
namespace {

/// `subject`: address of the lock; `detail`: the kernel's LCB_F_ flags; `text`: their meaning.
void describe_lock(const span_record& span, Finding& finding) {
  finding.arguments = {fmt::format("{:#x}", span.subject)};
  if (span.flags & SPAN_FAILED) finding.arguments.emplace_back("given up");
  finding.title = fmt::format("lock {} {}", finding.name, fmt::join(finding.arguments, " "));
}

constexpr SpanKind lock_kinds[] = {
    {.number = SPAN_LOCK,
     .name = "lock",
     .sentence = "a wait for a lock of the kernel that another holds",
     .owner = SpanOwner::thread,
     .summed_by = {.text = true},
     .describe = describe_lock}};

}  // namespace

extern const std::span<const SpanKind> locks_kinds;
const std::span<const SpanKind> locks_kinds = lock_kinds;

}  // namespace overdue
