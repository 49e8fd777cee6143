#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bpf/span.h"

namespace overdue {

class FieldVisitor;
struct Finding;

/// The thread that a span is reported for.
enum class SpanOwner : std::uint8_t {
  thread,    ///< one thread is in the span throughout: its waits explain the span
  beginner,  ///< the thread that began the span; the end interrupts any thread
  both,      ///< the thread that began the span, and the thread that ended the span beside it
  none,      ///< no thread: the interrupted thread is a bystander
};

/// The text of the record; raw.
std::string span_text(const span_record& span);
/// The text of the record; without a text, the subject as a number.
std::string span_text_or_number(const span_record& span);

/// What the spans of a kind are summed by: all that their names depend on.
struct SummedBy {
  std::uint64_t subject = 0;  ///< bits of span_record.subject
  std::uint64_t detail = 0;   ///< bits of span_record.detail
  bool text = false;
};
inline constexpr std::uint64_t all_bits = ~std::uint64_t{0};

/// A kind of span: data of the probe that measures it (src/probes/*/kinds.cc).
struct SpanKind {
  span_kind number;
  std::string_view name;      ///< in `--span`, `-T` and reports
  std::string_view sentence;  ///< begin and end of the span
  SpanOwner owner;
  bool is_of_function = false;  ///< `subject` is the address of a kernel function
  SummedBy summed_by = {};
  /// What the span is of: "vda", "127.0.0.1:80"; empty: only an address. May have bytes of other
  /// processes.
  std::string (*subject)(const span_record&) = span_text;
  /// Fills in arguments, error and title of a finding with `span` and `name`; null: the title is
  /// these two.
  void (*describe)(const span_record&, Finding&) = nullptr;
  /// Visits what only this kind has; null: nothing.
  void (*visit)(const span_record&, FieldVisitor&) = nullptr;
};

/// The kinds of all probes, by number.
std::span<const SpanKind* const> span_kinds();

/// The kind with this number; null for kinds of newer versions.
const SpanKind* span_kind_of(std::uint16_t number);

/// The kind of that name. User spans have names of their own: "pair" is no kind.
std::optional<span_kind> find_span_kind(std::string_view name);

/// The kind of a record's span; SPAN_NONE for kinds of newer versions.
span_kind known_span_kind(std::uint16_t number);

/// The name of a kind ("syscall", "block_queued", …); "unknown" for kinds of newer versions.
std::string_view span_name(std::uint16_t number);

/// Whether the owner is `thread`: thresholds for threads apply.
bool is_of_thread(std::uint16_t number);

/// SpanKind::subject of the span's kind; the text for kinds of newer versions.
std::string span_subject(const span_record& span);

}  // namespace overdue
