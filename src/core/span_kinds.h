#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "bpf/span.h"

namespace overdue {

/// A kind of span, as `--span`, `-T` and reports call it.
struct SpanKindInfo {
  span_kind kind;
  std::string_view name;
  std::string_view sentence;  ///< from what to what it is
};

/// Every kind there is, by number; the user's own (SPAN_PAIR) last.
std::span<const SpanKindInfo> span_kinds();

/// The kind of that name. User-defined spans have names of their own: "pair" is none.
std::optional<span_kind> find_span_kind(std::string_view name);

/// The kind of a record's span; SPAN_NONE for kinds of versions we do not know.
span_kind known_span_kind(std::uint16_t kind);

/// How `--span` and reports call a kind of span ("syscall", "block_queued", …); "unknown" for kinds
/// of versions we do not know.
std::string_view span_name(std::uint16_t kind);

/// Whether the thread that ends such a span is the one that lived through it: its waits explain it,
/// and thresholds for threads hold. Others end in whatever thread an interrupt meets.
bool is_of_thread(std::uint16_t kind);

}  // namespace overdue
