#pragma once

#include <string>
#include <vector>

#include "probes/app_timers/probe.h"
#include "source/probe_set.h"

namespace overdue {

/// The probe set for app timers: the timers that threads of the target wait for.
class AppTimersProbeSet final : public ProbeSet {
 public:
  explicit AppTimersProbeSet(AppTimersOptions options) : options_(std::move(options)) {}

  std::string_view purpose() const override { return "measure how late a program's timers are"; }
  Support support(const Kernel& kernel) const override { return app_timers_probe.support(kernel); }
  std::size_t ring_bytes() const override { return default_ring_bytes(); }
  void add_to(Session& session, const Kernel& kernel,
              const std::vector<std::uint32_t>& cpus) override;
  std::string backend() const override { return "bpf"; }
  std::uint64_t events_in(const Record& record) const override {
    return record.schema->id == RECORD_APP_TIMER;
  }
  Duration poll_every() const override { return std::chrono::milliseconds(20); }
  std::vector<std::string> notes() const override;

 private:
  AppTimersOptions options_;
  AppTimersProbe* probe_ = nullptr;  ///< set by add_to(); owned by the session
};

}  // namespace overdue
