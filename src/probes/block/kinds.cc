#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "core/finding.h"
#include "core/span_kinds.h"

namespace overdue {
namespace {

/// `subject`: sector << 32 | the kernel's dev_t; `detail`: bytes; `text`: the disk.
void describe_request(const span_record& span, Finding& finding) {
  constexpr std::uint64_t unknown_sector = 0xffffffff;
  const bool flush = span.flags & SPAN_FLUSH;
  finding.arguments = {flush ? "flush" : span.flags & SPAN_WRITE ? "write" : "read"};
  if (span.detail > 0) finding.arguments.push_back(bytes_text(span.detail));
  if (const std::uint64_t sector = span.subject >> 32; sector != unknown_sector && !flush)
    finding.arguments.push_back(fmt::format("sector {}", sector));
  if (span.flags & SPAN_FAILED) finding.arguments.emplace_back("failed");
  finding.title =
      fmt::format("{} {} {}", finding.span, finding.name, fmt::join(finding.arguments, " "));
}

constexpr SpanKind request_kinds[] = {
    {.number = SPAN_BLOCK,
     .name = "block",
     .sentence = "a block request in the device, from issue to completion",
     .owner = SpanOwner::beginner,
     .summed_by = {.text = true},
     .describe = describe_request},
    {.number = SPAN_BLOCK_QUEUED,
     .name = "block_queued",
     .sentence = "a block request from being queued to completion",
     .owner = SpanOwner::beginner,
     .summed_by = {.text = true},
     .describe = describe_request},
};

}  // namespace

extern const std::span<const SpanKind> block_kinds;
const std::span<const SpanKind> block_kinds = request_kinds;

}  // namespace overdue
