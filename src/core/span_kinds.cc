#include "core/span_kinds.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace overdue {

std::string span_text(const span_record& span) {
  return std::string(fixed_text(span.text));
}

std::string span_text_or_number(const span_record& span) {
  const std::string_view text = fixed_text(span.text);
  return text.empty() ? fmt::to_string(span.subject) : std::string(text);
}

const SpanKind* span_kind_of(std::uint16_t number) {
  const auto kinds = span_kinds();
  const auto found = std::ranges::find(kinds, number, &SpanKind::number);
  return found == kinds.end() ? nullptr : *found;
}

std::optional<span_kind> find_span_kind(std::string_view name) {
  const auto kinds = span_kinds();
  const auto found = std::ranges::find(kinds, name, &SpanKind::name);
  if (found == kinds.end() || (*found)->number == SPAN_PAIR) return std::nullopt;
  return (*found)->number;
}

span_kind known_span_kind(std::uint16_t number) {
  const SpanKind* kind = span_kind_of(number);
  return kind ? kind->number : SPAN_NONE;
}

std::string_view span_name(std::uint16_t number) {
  const SpanKind* kind = span_kind_of(number);
  return kind ? kind->name : "unknown";
}

bool is_of_thread(std::uint16_t number) {
  const SpanKind* kind = span_kind_of(number);
  return kind && kind->owner == SpanOwner::thread;
}

std::string span_subject(const span_record& span) {
  const SpanKind* kind = span_kind_of(span.span);
  return kind ? kind->subject(span) : span_text(span);
}

}  // namespace overdue
