#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/finding.h"
#include "core/span_kinds.h"

namespace overdue {
namespace {

/// Hexadecimal if it is a kernel address, else decimal.
std::string key_text(std::uint64_t key) {
  constexpr std::uint64_t kernel_begins = 0xffff'0000'0000'0000;
  return key >= kernel_begins && key < ~std::uint64_t{0} - 4096
             ? fmt::format("{:#x}", key)
             : fmt::to_string(static_cast<std::int64_t>(key));
}

/// `subject` and `detail`: the two numbers of the key; `text`: the span's own name.
void describe_pair(const span_record& span, Finding& finding) {
  if (span.flags & SPAN_KEY_HIDDEN) {
    finding.title = finding.name;
    return;
  }
  finding.arguments = {key_text(span.subject)};
  if (span.detail) finding.arguments.push_back(key_text(span.detail));
  finding.title = fmt::format("{} key {}", finding.name, fmt::join(finding.arguments, ";"));
}

constexpr SpanKind pair_kinds[] = {{.number = SPAN_PAIR,
                                    .name = "pair",
                                    .sentence = "a user span",
                                    .owner = SpanOwner::both,
                                    .summed_by = {.text = true},
                                    .describe = describe_pair}};

}  // namespace

extern const std::span<const SpanKind> pairs_kinds;
const std::span<const SpanKind> pairs_kinds = pair_kinds;

}  // namespace overdue
