#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "probes/osnoise/probe.h"
#include "report/hwlat/view.h"
#include "report/osnoise/figures.h"
#include "source/probe_set.h"

namespace overdue {

/// The busy threads of a plan; of hwlat, on `cpus` in turn.
BusyOptions busy_threads(const OsnoisePlan& plan);
BusyOptions busy_threads(const HwlatPlan& plan, const std::vector<std::uint32_t>& cpus);

/// Busy workload threads, one per CPU, and the probe of what keeps them from running.
class OsnoiseProbeSet final : public ProbeSet {
 public:
  /// `threads` must not have begun, and must outlive this object.
  explicit OsnoiseProbeSet(BusyThreads& threads) : threads_(threads) {}

  std::string_view purpose() const override { return "measure what takes CPU time"; }
  Support support(const Kernel& kernel) const override { return osnoise_probe.support(kernel); }
  std::size_t ring_bytes() const override { return 0; }
  void add_to(Session& session, const Kernel& kernel,
              const std::vector<std::uint32_t>& cpus) override;
  std::string backend() const override { return "bpf"; }
  void armed(KernelTime start) override;
  KernelTime ending() override;
  void end_threads() noexcept override { threads_.end(); }
  std::uint64_t events_in(const Record& record) const override {
    return record.schema->id == RECORD_OSNOISE_GAP ? 1 : 0;
  }
  Duration poll_every() const override { return std::chrono::milliseconds(50); }
  void poll(KernelTime now, const RecordHandler& handler) override;
  std::vector<std::string> notes() const override;

 private:
  BusyThreads& threads_;
  void check_hooks() const;

  OsnoiseProbe* probe_ = nullptr;
  KernelTime start_{};
  bool has_had_time_ = false;  ///< true: the session was longer than a period of each thread
};

}  // namespace overdue
