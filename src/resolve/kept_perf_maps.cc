#include "resolve/kept_perf_maps.h"

#include <algorithm>
#include <utility>

namespace overdue {

namespace {

/// A compiler maps memory for code many times a second: whether it has a map now need not be asked
/// each time.
constexpr Duration tried_every = std::chrono::milliseconds(20);

}  // namespace

void KeptPerfMaps::heard_of(pid_t pid, KernelTime at) {
  auto found =
      std::find_if(kept_.begin(), kept_.end(), [pid](const Kept& one) { return one.pid == pid; });
  if (found == kept_.end())
    found = kept_.insert(kept_.begin(), {.pid = pid});
  else
    kept_.splice(kept_.begin(), kept_, found);
  if (found->file.fd || at < found->tried_at + tried_every) return;
  found->tried_at = at;
  found->file = open_(pid);
  if (kept_.size() > most_) kept_.pop_back();
}

void KeptPerfMaps::forget(pid_t pid) {
  std::erase_if(kept_, [pid](const Kept& one) { return one.pid == pid; });
}

PerfMap::File KeptPerfMaps::open(pid_t pid) const {
  PerfMap::File file = open_(pid);
  if (file.fd) return file;
  for (const Kept& one : kept_)
    if (one.pid == pid && one.file.fd)
      return {.fd = one.file.fd.duplicate(), .owner = one.file.owner, .refused = {}};
  return file;
}

}  // namespace overdue
