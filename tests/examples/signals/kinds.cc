#include "core/finding.h"
#include "core/span_kinds.h"
#include "signals.h"

#include <csignal>
#include <cstring>

namespace overdue {
namespace {

/// `subject`: number of the signal.
std::string name_of(const span_record& span) {
  const char* name = sigabbrev_np(static_cast<int>(span.subject));
  return name ? std::string("SIG") + name : std::to_string(span.subject);
}

constexpr SpanKind kinds[] = {{.number = static_cast<span_kind>(SPAN_SIGNAL),
                               .name = "signal",
                               .sentence = "a signal from being sent to its delivery",
                               .owner = SpanOwner::both,
                               .subject = name_of}};

}  // namespace

extern const std::span<const SpanKind> signals_kinds;
const std::span<const SpanKind> signals_kinds = kinds;

}  // namespace overdue
