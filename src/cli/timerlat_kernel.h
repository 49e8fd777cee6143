#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/timerlat_assembler.h"
#include "base/time.h"
#include "cli/measure.h"
#include "cli/osnoise_tracer.h"
#include "cli/timerlat_figures.h"
#include "cli/timerlat_user_threads.h"

namespace overdue {

/// What the kernel's timerlat tracer is to do besides the plan.
struct TimerlatTracerRequest {
  std::optional<Duration> duration{};
  std::optional<Duration> interval{};
  std::string cpus_text{};             ///< as given; empty: all
  std::vector<std::string> options{};  ///< of osnoise/options: "TIMERLAT_ALIGN", "NO_…"
  bool quiet = false;
  bool verbose = false;  ///< say what was attached
  bool streams = false;  ///< the listener writes while we measure
};

/// Whether that tracer measures threads of programs: `timerlat_fd` is there, as far as we may look.
bool tracer_sees_programs(const std::filesystem::path& tracefs);

/// Measures with the kernel's own timerlat tracer: see OsnoiseTracer. One thread.
class TimerlatTracer final : public TimerlatSource, private OsnoiseTracerKind {
 public:
  /// `plan` is kept.
  TimerlatTracer(const TimerlatPlan& plan, const TimerlatTracerRequest& request);
  ~TimerlatTracer() override;
  TimerlatTracer(const TimerlatTracer&) = delete;
  TimerlatTracer& operator=(const TimerlatTracer&) = delete;

  /// As OsnoiseTracer::run(), with timerlat_activations as records.
  int run(const Kernel& kernel, MeasureListener& listener) { return tracer_.run(kernel, listener); }

  bool is_stuck() const override { return false; }
  bool starved() const override { return tracer_.starved(); }
  std::vector<std::uint64_t> missed() const override;
  std::string why_none(std::uint32_t cpu) const override;
  std::optional<int> priority_of_thread(std::uint32_t tid) const override;

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
  std::vector<std::string> notes() const override;

  const TimerlatPlan& plan_;
  TimerlatAssembler assembler_;
  OsnoiseTracer tracer_;
  std::optional<TimerlatUserThreads> workers_;  // behind the tracer: they end before it
  unsigned went_on_ = 0;                        ///< it had stopped recording, without a limit
};

}  // namespace overdue
