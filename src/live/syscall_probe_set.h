#pragma once

#include <memory>
#include <optional>

#include "live/callers.h"
#include "live/two_phase.h"
#include "probes/syscalls/probe.h"
#include "source/probe_set.h"

namespace overdue {

/// The probe set of system calls: aggregated, one by one, or their names only; optionally in two
/// phases.
class SyscallProbeSet final : public ProbeSet, public FrameLearner {
 public:
  /// `discovery`: length of the first phase of a two-phase run. `ring_bytes`: 0 is the default.
  SyscallProbeSet(SyscallsOptions options, std::optional<Duration> discovery,
                  std::size_t ring_bytes)
      : options_(std::move(options)), discovery_(discovery), ring_bytes_(ring_bytes) {}

  std::string_view purpose() const override { return "measure system calls"; }
  Support support(const Kernel& kernel) const override { return syscalls_probe.support(kernel); }
  std::size_t ring_bytes() const override;
  void add_to(Session& session, const Kernel& kernel,
              const std::vector<std::uint32_t>& cpus) override;
  std::string backend() const override { return options_.two_phase ? "two-phase" : "tp_btf"; }
  void armed(KernelTime start) override;
  std::uint64_t events_in(const Record& record) const override;
  bool sees_any_program() const override { return !options_.only && !options_.discover_only; }
  bool names_kernel_threads() const override { return false; }  // they make no calls
  bool attaches_later() const override { return options_.two_phase || options_.discover_only; }
  Duration poll_every() const override;
  KernelTime due() const override;
  void poll(KernelTime now, const RecordHandler&) override;
  std::vector<std::string> notes() const override;

  void learn(const frame_key& frame, const frame_rule& rule) override {
    probe_->learn(frame, rule);
  }

  const SyscallsOptions& options() const { return options_; }
  /// The calls seen with discover_only. The session must still exist.
  SyscallSet discovered() const { return probe_->discovered(); }

 private:
  void watch_filters(bool from_the_start);

  SyscallsOptions options_;
  std::optional<Duration> discovery_;
  std::size_t ring_bytes_;
  Membership* membership_ = nullptr;
  SyscallsProbe* probe_ = nullptr;
  bool sees_refusals_ = false;  ///< with --discover: the hook at exits is attached
  std::string refusals_note_;
  std::unique_ptr<TwoPhase> two_phase_;
};

}  // namespace overdue
