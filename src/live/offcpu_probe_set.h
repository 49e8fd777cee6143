#pragma once

#include <vector>

#include "live/socket_queues.h"
#include "probes/sched/probe.h"
#include "source/probe_set.h"

namespace overdue {

/// The probe set of `offcpu`: sums of the waits of the target's threads, and of their displacers.
class OffcpuProbeSet final : public ProbeSet {
 public:
  struct Options {
    bool idle = false;     ///< also sums of the idle thread of each CPU
    bool cpus = false;     ///< also sums by CPU
    bool sockets = false;  ///< also the queues of the target's sockets
  };
  explicit OffcpuProbeSet(const Options& options) : options_(options) {}

  std::string_view purpose() const override { return "measure time off the CPU"; }
  Support support(const Kernel& kernel) const override { return sched_probe.support(kernel); }
  std::size_t ring_bytes() const override { return std::size_t{1} << 20; }
  void add_to(Session& session, const Kernel& kernel,
              const std::vector<std::uint32_t>& cpus) override;
  std::uint64_t events_in(const Record& record) const override;
  bool look_at_switches() const override { return true; }
  Duration poll_every() const override { return std::chrono::milliseconds(50); }
  KernelTime due() const override { return options_.sockets ? sockets_.due() : KernelTime::max(); }
  void poll(KernelTime now, const RecordHandler& handler) override;
  void finish(const RecordHandler& handler) override;

 private:
  Options options_;
  const Membership* membership_ = nullptr;
  SocketQueues sockets_;
};

}  // namespace overdue
