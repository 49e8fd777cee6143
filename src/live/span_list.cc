#include "live/span_list.h"

#include <memory>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "core/span_kinds.h"
#include "live/event_finder.h"
#include "live/mapped_files.h"
#include "live/ready_spans.h"
#include "live/span_choice.h"
#include "probes/pairs/hook.h"

namespace overdue {
namespace {

/// Looks for the events of ready-made spans, as a session does before it attaches.
class ReadySpanCheck {
 public:
  ReadySpanCheck(const Kernel& kernel, const TargetSelection& target, bool sandbox)
      : kernel_(kernel), target_(target), sandbox_(sandbox) {}

  /// Why the span cannot be measured; empty: it can.
  std::string missing(const ReadySpan& ready) {
    std::vector<PairSpec> pairs{pair_of(ready)};
    if (const Support support = pair_support(pairs[0], kernel_); !support.yes)
      return support.missing;
    try {
      // In the sandbox as ever: the files are the target's.
      const auto finder = make_event_finder(pairs, sandbox_);
      find_mapped_files(pairs, target_);
      if (!types_) types_ = KernelTypes::of_kernel();
      if (types_) make_hooks(pairs[0], *types_, kernel_, *finder);
    } catch (const Error& error) {
      const std::string why = error.what(), known = fmt::format("cannot measure {}: ", ready.name);
      return why.starts_with(known) ? why.substr(known.size()) : why;
    }
    return types_ ? "" : "the kernel's types cannot be read";
  }

 private:
  const Kernel& kernel_;
  const TargetSelection& target_;
  bool sandbox_;
  std::optional<KernelTypes> types_;
};

}  // namespace

std::vector<SpanEntry> list_spans(const Kernel& kernel, const TargetSelection& target,
                                  bool sandbox) {
  std::vector<SpanEntry> entries;
  for (const SpanKind* kind : span_kinds()) {
    if (kind->number == SPAN_PAIR) continue;
    const Support support = span_support(kernel, kind->number);
    entries.push_back({.name = kind->name,
                       .sentence = kind->sentence,
                       .needs = {},
                       .missing = support.yes ? "" : support.missing});
  }
  ReadySpanCheck check(kernel, target, sandbox);
  for (const ReadySpan& ready : ready_spans())
    entries.push_back({.name = ready.name,
                       .sentence = ready.sentence,
                       .needs = ready.needs,
                       .missing = check.missing(ready)});
  return entries;
}

}  // namespace overdue
