#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/osnoise_assembler.h"
#include "base/time.h"
#include "report/osnoise/figures.h"
#include "source/measure.h"
#include "source/osnoise_tracer.h"

namespace overdue {

/// Settings of the kernel's osnoise tracer besides the plan: see OsnoiseTracerRequest.
struct OsnoiseKernelRequest {
  std::string cpus_text{};
  std::vector<std::string> options{};
  bool verbose = false;
};

/// Measures with the kernel's own osnoise tracer: see OsnoiseTracer. Used by one thread.
class OsnoiseKernelTracer final : private OsnoiseTracerKind {
 public:
  /// `plan` and `kernel` must outlive this object.
  OsnoiseKernelTracer(const OsnoisePlan& plan, const OsnoiseKernelRequest& request,
                      const Kernel& kernel);
  ~OsnoiseKernelTracer() override;
  OsnoiseKernelTracer(const OsnoiseKernelTracer&) = delete;
  OsnoiseKernelTracer& operator=(const OsnoiseKernelTracer&) = delete;

  /// For run_session(). The records are osnoise_gaps and osnoise_samples, the latter without
  /// `inner_ns` and `outer_ns`.
  Source& source() { return tracer_; }
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
