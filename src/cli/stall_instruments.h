#pragma once

#include <functional>

#include "cli/instruments.h"
#include "cli/thresholds.h"
#include "probes/sched/probe.h"
#include "probes/syscalls/probe.h"

namespace overdue {

struct StallOptions {
  Thresholds thresholds;
  std::vector<span_kind> spans;     ///< which kinds to look for
  std::optional<SyscallSet> only;   ///< -e: of system calls, these
  std::optional<Duration> timeout;  ///< calls still open after this are told of
  bool idle = false;                ///< waits for work are stalls too
  std::size_t user_stack_bytes = 16 << 10;
  std::size_t ring_bytes = 0;  ///< 0: chosen
};

/// Spans that take as long as their threshold, and what explains them.
class StallInstruments final : public Instruments {
 public:
  explicit StallInstruments(StallOptions options) : options_(std::move(options)) {}

  std::string_view purpose() const override { return "find stalls"; }
  Support support(const Kernel& kernel) const override;
  std::size_t ring_bytes() const override;
  void add_to(Session& session, const std::vector<std::uint32_t>& cpus) override;
  std::uint64_t events_in(const Record&) const override { return 0; }
  std::uint64_t events() const override { return sched_->activity().calls; }
  Duration poll_every() const override;
  void armed(KernelTime start) override;
  KernelTime due() const override { return next_look_; }
  void poll(KernelTime now, const RecordHandler& handler) override;
  std::vector<std::string> notes() const override;

  std::vector<std::pair<std::string, std::string>> settings() const override;
  void set(const std::vector<std::string_view>& words) override;
  /// Called when settings have changed, with the moment from which on they hold.
  std::function<void(KernelTime)> on_change;

  const StallOptions& options() const { return options_; }

 private:
  bool wants(span_kind span) const;
  void store_thresholds();

  StallOptions options_;
  Membership* membership_ = nullptr;
  SchedProbe* sched_ = nullptr;
  SyscallsProbe* syscalls_ = nullptr;
  KernelTime next_look_ = KernelTime::max();  ///< for hangs
};

/// Native calls that wait for work by their nature: epoll_wait, accept, wait4, …
bool waits_for_work(std::uint32_t nr);

}  // namespace overdue
