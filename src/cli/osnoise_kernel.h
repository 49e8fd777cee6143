#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/osnoise_assembler.h"
#include "base/time.h"
#include "cli/measure.h"
#include "cli/osnoise_figures.h"
#include "cli/osnoise_tracer.h"

namespace overdue {

/// What the kernel's osnoise tracer is to do besides the plan: see OsnoiseTracerRequest.
struct OsnoiseKernelRequest {
  std::string cpus_text{};
  std::vector<std::string> options{};
  std::optional<Duration> duration{};
  std::optional<Duration> interval{};
  bool quiet = false;
  bool verbose = false;
  bool streams = false;
};

/// Measures with the kernel's own osnoise tracer: see OsnoiseTracer. One thread.
class OsnoiseKernelTracer final : private OsnoiseTracerKind {
 public:
  /// `plan` is kept.
  OsnoiseKernelTracer(const OsnoisePlan& plan, const OsnoiseKernelRequest& request);
  ~OsnoiseKernelTracer() override;
  OsnoiseKernelTracer(const OsnoiseKernelTracer&) = delete;
  OsnoiseKernelTracer& operator=(const OsnoiseKernelTracer&) = delete;

  /// As OsnoiseTracer::run(), with osnoise_gaps and osnoise_samples as records: of the latter only
  /// what the tracer knows.
  int run(const Kernel& kernel, MeasureListener& listener) { return tracer_.run(kernel, listener); }
  bool starved() const { return tracer_.starved(); }

 private:
  void check(const std::filesystem::path& tracefs) const override;
  std::span<const std::string_view> settings() const override;
  void configure(const TracingSettings& settings) override;
  void prepare(const TracingInstance& instance) override;
  TracerAssembler& assembler() override { return assembler_; }
  void find_what_stopped_it() override {}
  std::vector<std::string> notes() const override;

  const OsnoisePlan& plan_;
  OsnoiseAssembler assembler_;
  OsnoiseTracer tracer_;
};

}  // namespace overdue
