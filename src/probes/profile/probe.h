#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "bpf/profile.h"
#include "core/probe.h"
#include "kernel/live_probe.h"
#include "kernel/membership.h"

namespace overdue {

/// The words of --event, by enum profile_event from 1 on.
inline constexpr std::array<std::string_view, 2> profile_events{"cpu-clock", "cycles"};

std::string_view to_word(profile_event event);
/// Empty for any other word.
std::optional<profile_event> profile_event_named(std::string_view word);

struct ProfileOptions {
  profile_event event = PROFILE_CPU_CLOCK;
  std::uint32_t rate_hz = 99;            ///< samples of each CPU in a second
  std::size_t user_stack_bytes = 16384;  ///< bytes of the user stack to copy; 0: none
  std::vector<std::uint32_t> cpus = {};  ///< CPUs to sample; empty: all that are online
};

/// Samples the target's threads while they run: a profile_sample record for each sample, and at the
/// end a profile_cpu record for each CPU. The constructor loads and attaches the program, and
/// throws Error. CPUs that come online later are not sampled.
class ProfileProbe final : public LiveProbe {
 public:
  ProfileProbe(const ProfileOptions& options, const SharedMaps& shared);
  ~ProfileProbe() override;

  void finish(KernelTime end, const RecordHandler& handler) override;
  const Schema* schema(std::uint16_t kind) const override;
  Counters counters() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern const ProbeInfo profile_probe;
extern const Schema profile_sample_schema;
extern const Schema profile_cpu_schema;

}  // namespace overdue
