#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "bpf/span.h"

namespace overdue {

/// A kind of span, with its name in `--span`, `-T` and reports.
struct SpanKindInfo {
  span_kind kind;
  std::string_view name;
  std::string_view sentence;  ///< begin and end of the span
};

/// All kinds by number; user spans (SPAN_PAIR) last.
std::span<const SpanKindInfo> span_kinds();

/// The kind of that name. User spans have names of their own: "pair" is no kind.
std::optional<span_kind> find_span_kind(std::string_view name);

/// The kind of a record's span; SPAN_NONE for kinds of newer versions.
span_kind known_span_kind(std::uint16_t kind);

/// The name of a kind in `--span` and reports ("syscall", "block_queued", …); "unknown" for kinds
/// of newer versions.
std::string_view span_name(std::uint16_t kind);

/// Whether the thread that ends such a span is in the span throughout: the thread's waits explain
/// the span, and thresholds for threads apply. Other spans end in any thread that an interrupt
/// interrupts.
bool is_of_thread(std::uint16_t kind);

}  // namespace overdue
