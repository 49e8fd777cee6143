#include "resolve/kept_perf_maps.h"

#include <algorithm>
#include <utility>

namespace overdue {

namespace {

/// A compiler maps memory for code many times a second; not every mapping needs a search for the
/// map.
constexpr Duration tried_every = std::chrono::milliseconds(20);
constexpr Duration tried_at_last_every = std::chrono::seconds(5);

}  // namespace

KeptPerfMaps::Kept* KeptPerfMaps::find(pid_t pid) {
  const auto found =
      std::find_if(kept_.begin(), kept_.end(), [pid](const Kept& one) { return one.pid == pid; });
  if (found == kept_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, found);
  return &kept_.front();
}

void KeptPerfMaps::heard_of(pid_t pid, KernelTime at) {
  if (!find(pid)) kept_.push_front({.pid = pid});
  wanted(pid, at);
  if (kept_.size() > most_) kept_.pop_back();
}

void KeptPerfMaps::wanted(pid_t pid, KernelTime now) {
  Kept* kept = find(pid);
  if (!kept) return;
  kept->rest = tried_every;
  look(*kept, now);
}

void KeptPerfMaps::look(Kept& kept, KernelTime now) {
  if (kept.file.fd || now < kept.tried_at + kept.rest) return;
  kept.tried_at = now;
  kept.rest = std::min(2 * kept.rest, tried_at_last_every);
  kept.file = open_(kept.pid);
}

void KeptPerfMaps::look_again(KernelTime now) {
  for (Kept& kept : kept_) look(kept, now);
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
