#include "report/why/row.h"

namespace overdue {

RowPlaces::RowPlaces(const std::vector<WhyRow>& rows, Whose by,
                     const std::vector<OffcpuRow>& threads)
    : by_(by) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (is_kept_apart(rows[i])) places_.try_emplace(key_of(rows[i], by), i);
  for (const OffcpuRow& thread : threads) {
    const auto [known, is_new] = of_tids_.try_emplace(thread.tid, of(thread));
    if (!is_new && known->second != of(thread)) known->second.reset();  // used twice
  }
}

/// Threads that are too many to keep apart have no row of their own.
bool RowPlaces::is_kept_apart(const Owner& owner) const {
  return (by_ != Whose::thread && by_ != Whose::process) || owner.tid != 0 || owner.pid != 0;
}

/// A group has the threads of one process, or of all.
std::optional<std::size_t> RowPlaces::of(const Owner& thread) const {
  if (!is_kept_apart(thread)) return std::nullopt;
  Owner key = key_of(thread, by_);
  auto found = places_.find(key);
  if (found == places_.end() && by_ == Whose::group) {
    key.pid = 0;
    found = places_.find(key);
  }
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::size_t> RowPlaces::of(std::uint32_t tid) const {
  const auto known = of_tids_.find(tid);
  return known == of_tids_.end() ? std::nullopt : known->second;
}

}  // namespace overdue
