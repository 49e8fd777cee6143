#pragma once

#include <optional>

#include "probes/worst/probe.h"
#include "probes/worst/sections.h"
#include "source/probe_set.h"

namespace overdue {

/// Latencies of wake-ups are exact; those of disabled interrupts and preemption are lower bounds.
constexpr bool is_exact(worst_tracer tracer) {
  return tracer <= WORST_WAKEUP_DL;
}

/// A probe set that delivers windows, of which the longest are kept.
class WindowProbeSet : public ProbeSet {
 public:
  /// From now on, only windows with a longer latency are wanted.
  virtual void raise_bar(std::uint64_t latency_ns) = 0;
  /// The longest latency that was seen, whether or not its window came.
  virtual std::uint64_t longest_ns() const = 0;
};

/// The longest wake-ups of the highest-priority thread.
class WorstProbeSet final : public WindowProbeSet {
 public:
  explicit WorstProbeSet(WorstOptions options) : options_(std::move(options)) {}

  std::string_view purpose() const override { return "follow wake-ups"; }
  Support support(const Kernel& kernel) const override { return worst_probe.support(kernel); }
  std::size_t ring_bytes() const override { return 0; }
  void add_to(Session& session, const Kernel& kernel,
              const std::vector<std::uint32_t>& cpus) override;
  std::uint64_t events_in(const Record&) const override { return 0; }
  std::uint64_t events() const override { return probe_ ? probe_->figures().tracked : 0; }
  Duration poll_every() const override { return std::chrono::milliseconds(5); }
  void poll(KernelTime now, const RecordHandler& handler) override;
  std::vector<std::string> notes() const override;

  void raise_bar(std::uint64_t latency_ns) override;
  std::uint64_t longest_ns() const override { return probe_ ? probe_->figures().longest_ns : 0; }

 private:
  WorstOptions options_;
  WorstProbe* probe_ = nullptr;  ///< owned by the session
};

/// The longest sections with interrupts or preemption disabled: lower bounds.
class SectionProbeSet final : public WindowProbeSet {
 public:
  explicit SectionProbeSet(WorstOptions options) : options_(std::move(options)) {}

  std::string_view purpose() const override { return "find disabled interrupts or preemption"; }
  Support support(const Kernel& kernel) const override {
    return support_of_sections(options_.tracer, kernel);
  }
  std::size_t ring_bytes() const override { return std::size_t{4} << 20; }  // a second of windows
  void add_to(Session& session, const Kernel& kernel,
              const std::vector<std::uint32_t>& cpus) override;
  std::uint64_t events_in(const Record&) const override { return 0; }
  std::uint64_t events() const override { return probe_ ? probe_->figures().seen : 0; }
  Duration poll_every() const override { return std::chrono::milliseconds(20); }
  std::vector<std::string> notes() const override;
  void raise_bar(std::uint64_t latency_ns) override;
  std::uint64_t longest_ns() const override { return probe_ ? probe_->figures().longest_ns : 0; }

 private:
  WorstOptions options_;
  SectionsProbe* probe_ = nullptr;  ///< owned by the session
};

}  // namespace overdue
