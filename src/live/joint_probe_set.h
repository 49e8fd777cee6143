#pragma once

#include <vector>

#include "source/probe_set.h"

namespace overdue {

/// Several probe sets in one session. The first gives the session its purpose, its way of
/// measuring and its settings.
class JointProbeSet final : public ProbeSet {
 public:
  /// At least one set; all must outlive this object.
  explicit JointProbeSet(std::vector<ProbeSet*> sets) : sets_(std::move(sets)) {}

  std::string_view purpose() const override { return sets_.front()->purpose(); }
  Support support(const Kernel& kernel) const override;
  std::size_t ring_bytes() const override;
  void add_to(Session& session, const Kernel& kernel,
              const std::vector<std::uint32_t>& cpus) override;
  std::string backend() const override { return sets_.front()->backend(); }
  void armed(KernelTime start) override;
  std::uint64_t events_in(const Record& record) const override;
  std::uint64_t events() const override;
  bool look_at_switches() const override;
  bool names_kernel_threads() const override;
  bool attaches_later() const override;
  bool sees_any_program() const override { return sets_.front()->sees_any_program(); }
  Duration poll_every() const override;
  KernelTime due() const override;
  void poll(KernelTime now, const RecordHandler& handler) override;
  bool is_over() const override;
  KernelTime ending() override;
  void finish(const RecordHandler& handler) override;
  void end_threads() noexcept override;
  std::vector<std::pair<std::string, std::string>> settings() const override;
  void set(const std::vector<std::string_view>& words) override { sets_.front()->set(words); }
  std::vector<std::string> notes() const override;

 private:
  std::vector<ProbeSet*> sets_;
};

}  // namespace overdue
