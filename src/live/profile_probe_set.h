#pragma once

#include <string>
#include <vector>

#include "probes/profile/probe.h"
#include "source/probe_set.h"

namespace overdue {

/// The probe set of `profile`: samples of the target's threads.
class ProfileProbeSet final : public ProbeSet {
 public:
  ProfileProbeSet(ProfileOptions options, std::size_t ring_bytes)
      : options_(std::move(options)), ring_bytes_(ring_bytes) {}

  std::string_view purpose() const override {
    return options_.event == PROFILE_CPU_CYCLES ? "sample CPUs by their cycles" : "sample CPUs";
  }
  Support support(const Kernel& kernel) const override;
  std::size_t ring_bytes() const override { return ring_bytes_; }
  void add_to(Session& session, const Kernel& kernel,
              const std::vector<std::uint32_t>& cpus) override;
  std::string backend() const override { return std::string(to_word(options_.event)); }
  std::uint64_t events_in(const Record& record) const override {
    return record.schema->id == RECORD_PROFILE_SAMPLE;
  }
  /// Soon enough to open the files of a process that ends at once.
  Duration poll_every() const override { return std::chrono::milliseconds(20); }

 private:
  ProfileOptions options_;
  std::size_t ring_bytes_;
};

}  // namespace overdue
