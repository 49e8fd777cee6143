#include "live/event_finder.h"

#include <algorithm>

#include "base/error.h"
#include "live/mapped_files.h"
#include "resolve/sandboxed_event_finder.h"
#include "target/file_rights.h"
#include "target/identity.h"

namespace overdue {
namespace {

/// Opens a file that a span names, with the rights of the caller.
OpenFile open_for_caller() {
  return
      [caller = choose_identity(IdentityRequest::current(std::nullopt))](const std::string& path) {
        const FileRights rights(caller);
        return open_regular(path);
      };
}

}  // namespace

void prepare_user_spans(StallOptions& options, const TargetSelection& target, bool sandbox) {
  options.finder = make_event_finder(options.spans.pairs, sandbox);
  options.notes = find_mapped_files(options.spans.pairs, target);
}

std::shared_ptr<EventFinder> make_event_finder(const std::vector<PairSpec>& pairs, bool sandbox) {
  // Spans of the kernel's events name no file: they need no sandbox.
  const bool has_files = std::ranges::any_of(pairs, [](const PairSpec& pair) {
    return std::ranges::any_of(pair.sides(), [](const SideSpec* side) {
      return std::ranges::any_of(side->events, &EventSpec::is_user);
    });
  });
  if (!has_files) return std::make_shared<LocalEventFinder>();
  if (!sandbox) return std::make_shared<LocalEventFinder>(open_for_caller());
  try {
    return std::make_shared<SandboxedEventFinder>(
        SandboxedEventFinder::Options{.open = open_for_caller()});
  } catch (const Error& error) {
    throw Error("cannot read the files that user spans name: {}", error.what())
        .hint("--no-sandbox reads them with Overdue's own rights: for files that you trust");
  }
}

}  // namespace overdue
