#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core/latency_window.h"
#include "kernel/features.h"
#include "kernel/tracing_instance.h"
#include "source/kept_options.h"
#include "source/source.h"

namespace overdue {

/// The functions that the kernel's own tracer reports.
enum class TracedFunctions : std::uint8_t {
  none,
  entries,  ///< the begin of each function, and its caller
  graph,    ///< the begin and the end of each function
};

/// Settings of a run of the kernel's own tracer.
struct KernelTracerRequest {
  std::string tracer;  ///< "wakeup_rt", "irqsoff", "hwlat", …
  bool events = false;
  TracedFunctions functions = TracedFunctions::none;
  KeptOptions kept = {};  ///< settings of the session, for a recording
};

/// The kernel's latency tracer of that name, in a tracing instance of its own: all that it wrote
/// comes at the end, in records of RECORD_TRACER_TEXT. Nothing outside of the instance is changed.
/// Used by one thread.
class LatencyTracer final : public Source {
 public:
  /// `kernel` must outlive this object.
  LatencyTracer(KernelTracerRequest request, const Kernel& kernel);
  ~LatencyTracer() override;
  LatencyTracer(const LatencyTracer&) = delete;
  LatencyTracer& operator=(const LatencyTracer&) = delete;

  void check() override;
  std::string_view start_step() const override { return "preparing the kernel's tracer"; }
  SessionInfo start(const SpawnedProgram* program) override;
  KernelTime due(KernelTime) const override { return KernelTime::max(); }
  void poll(const RecordHandler&) override {}
  bool is_over() override { return false; }
  KernelTime stop(SessionInfo& info, const RecordHandler& handler) override;
  Receipt receipt(SessionInfo& info, bool has_run) override;

 private:
  void note_what_is_there(SessionInfo& info);

  KernelTracerRequest request_;
  const Kernel& kernel_;
  std::filesystem::path tracefs_{};  ///< set by check()
  std::unique_ptr<TracingInstance> instance_;
  bool has_program_ = false;
  std::string text_, longest_us_;  ///< set by stop()
  std::optional<LatencyWindow> longest_;
};

}  // namespace overdue
