#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/timerlat_assembler.h"
#include "base/time.h"
#include "report/timerlat/figures.h"
#include "source/measure.h"
#include "source/osnoise_tracer.h"
#include "source/timerlat_user_threads.h"

namespace overdue {

/// Settings of the kernel's timerlat tracer besides the plan.
struct TimerlatTracerRequest {
  std::string cpus_text{};             ///< value of --cpu; empty: all CPUs
  std::vector<std::string> options{};  ///< for osnoise/options: "TIMERLAT_ALIGN", "NO_…"
  bool verbose = false;                ///< prints the tracer and its instance
};

/// Whether the tracer measures threads of programs: Overdue may see a `timerlat_fd`.
bool tracer_sees_programs(const std::filesystem::path& tracefs);

/// Measures with the kernel's own timerlat tracer: see OsnoiseTracer. Used by one thread.
class TimerlatTracer final : private OsnoiseTracerKind {
 public:
  /// `plan` and `kernel` must outlive this object.
  TimerlatTracer(const TimerlatPlan& plan, const TimerlatTracerRequest& request,
                 const Kernel& kernel);
  ~TimerlatTracer() override;
  TimerlatTracer(const TimerlatTracer&) = delete;
  TimerlatTracer& operator=(const TimerlatTracer&) = delete;

  /// For run_session(). The records are timerlat_activations.
  Source& source() { return tracer_; }

  bool starved() const { return tracer_.starved(); }

 private:
  void check(const std::filesystem::path& tracefs) const override;
  std::span<const std::string_view> settings() const override;
  void configure(const TracingSettings& settings) override;
  void prepare(const TracingInstance& instance) override;
  void begin_threads(const std::filesystem::path& tracefs,
                     const TracingInstance& instance) override;
  void check_threads() override;
  void end_threads() override { workers_.reset(); }
  TracerAssembler& assembler() override { return assembler_; }
  void find_what_stopped_it() override;
  void finish(const RecordHandler& handler) override;
  std::vector<std::string> notes() const override;

  std::vector<std::uint64_t> missed() const;

  const TimerlatPlan& plan_;
  TimerlatAssembler assembler_;
  OsnoiseTracer tracer_;
  std::optional<TimerlatUserThreads> workers_;  // after the tracer, to end before it
  unsigned went_on_ = 0;                        ///< stops of the recording without a limit
};

}  // namespace overdue
