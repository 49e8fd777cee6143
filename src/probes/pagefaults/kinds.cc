#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bpf/pagefaults.h"
#include "core/finding.h"
#include "core/span_kinds.h"

namespace overdue {
namespace {

/// `text`: the file's name. "major libc.so.6", "minor anonymous"
std::string page_of(const span_record& span) {
  const std::string page = span.detail & PAGEFAULT_FILE     ? span_text(span)
                           : span.detail & PAGEFAULT_MEMORY ? "anonymous"
                                                            : "unknown";
  return fmt::format("{} {}", span.detail & PAGEFAULT_MAJOR ? "major" : "minor", page);
}

/// `subject`: address; `detail`: enum pagefault_flags.
void describe_fault(const span_record& span, Finding& finding) {
  finding.arguments = {span.detail & PAGEFAULT_EXECUTE ? "execute"
                       : span.detail & PAGEFAULT_WRITE ? "write"
                                                       : "read",
                       fmt::format("{:#x}", span.subject)};
  finding.title =
      fmt::format("{} {} {}", finding.span, finding.name, fmt::join(finding.arguments, " "));
}

constexpr SpanKind fault_kinds[] = {
    {.number = SPAN_PAGEFAULT,
     .name = "pagefault",
     .sentence = "a page fault, from the exception to the page's being there",
     .owner = SpanOwner::thread,
     .summed_by = {.detail = PAGEFAULT_MAJOR | PAGEFAULT_FILE | PAGEFAULT_MEMORY, .text = true},
     .subject = page_of,
     .describe = describe_fault}};

}  // namespace

extern const std::span<const SpanKind> pagefaults_kinds;
const std::span<const SpanKind> pagefaults_kinds = fault_kinds;

}  // namespace overdue
