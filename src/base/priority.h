#pragma once

namespace overdue {

/// While one exists, the calling thread has nice level -10, about ten times the weight of an
/// ordinary thread. On a machine where dozens of threads wait for each CPU, a thread that reads
/// records otherwise waits for seconds, and what does not fit into the rings meanwhile is lost.
/// Does nothing for a thread whose nice level was changed by its user, or if the kernel refuses.
class RaisedPriority {
 public:
  RaisedPriority();
  ~RaisedPriority();
  RaisedPriority(const RaisedPriority&) = delete;
  RaisedPriority& operator=(const RaisedPriority&) = delete;
};

/// For a child process: takes back what its parent's RaisedPriority has set. Async-signal-safe.
void drop_raised_priority() noexcept;

}  // namespace overdue
