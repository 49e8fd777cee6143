#include "core/full_names.h"

#include <optional>

#include "core/finding.h"

namespace overdue {
namespace {

constexpr std::size_t longest_comm = 15;

/// A rescuer of a work queue, `kworker/R-writeback`, is named by the queue, whatever it does.
bool is_worker(std::string_view comm) {
  return comm.starts_with("kworker/") && !comm.starts_with("kworker/R-");
}

void rename(ThreadName& thread, const Names& names) {
  thread.comm = full_name(names, thread.tid, thread.comm, QueueOfWork::left_out);
}

void rename(std::optional<ThreadName>& thread, const Names& names) {
  if (thread) rename(*thread, names);
}

void rename(CpuShares& shares, const Names& names) {
  for (CpuShare& share : shares.threads) rename(share.thread, names);
}

void rename(Wait& wait, const Names& names) {
  if (wait.waker) {
    rename(wait.waker->thread, names);
    rename(wait.waker->interrupted, names);
  }
  rename(wait.preempted_by, names);
  rename(wait.tracer, names);
  rename(wait.ran, names);
  if (wait.stop) rename(wait.stop->sender, names);
}

void rename(ChainLink& link, const Names& names) {
  rename(link.thread, names);
  rename(link.interrupted, names);
  rename(link.ran, names);
  for (WaitPlace& place : link.places) rename(place.ran, names);
}

}  // namespace

std::string full_name(const Names& names, std::uint32_t tid, std::string_view comm,
                      QueueOfWork queue) {
  const auto found = names.threads.find(tid);
  // Another thread may have had the id before.
  if (found == names.threads.end() || comm.empty() || !found->second.starts_with(comm))
    return std::string(comm);
  const std::string_view rest = std::string_view(found->second).substr(comm.size());
  if (is_worker(comm)) {
    const bool is_queue = rest.starts_with('-') || rest.starts_with('+');
    return is_queue && queue == QueueOfWork::shown ? found->second : std::string(comm);
  }
  return comm.size() == longest_comm ? found->second : std::string(comm);
}

void give_full_names(Finding& finding, const Names& names) {
  if (names.threads.empty()) return;
  rename(finding.thread, names);
  rename(finding.ended_by, names);
  for (Wait& wait : finding.waits) rename(wait, names);
  for (WaitPlace& place : finding.places) rename(place.ran, names);
  for (ChainLink& link : finding.chain) rename(link, names);
}

}  // namespace overdue
