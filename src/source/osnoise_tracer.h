#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/tracer_assembler.h"
#include "base/time.h"
#include "kernel/features.h"
#include "kernel/tracing_instance.h"
#include "kernel/tracing_settings.h"
#include "source/kept_options.h"
#include "source/source.h"

namespace overdue {

/// Settings of a run of the kernel's timerlat or osnoise tracer. The settings of both tracers are
/// in tracefs' `osnoise/`.
struct OsnoiseTracerRequest {
  std::string tracer{};  ///< name of the tracer and of Overdue's command
  std::vector<std::uint32_t> cpus{};
  std::string cpus_text{};             ///< value of --cpu; empty: all CPUs
  std::optional<int> priority{};       ///< SCHED_FIFO priority; none: the tracer's default
  bool kernel_threads = true;          ///< false: measures threads of the kind, or of a program
  std::vector<std::string> options{};  ///< for osnoise/options: "TIMERLAT_ALIGN", "NO_…"
  KeptOptions kept{};                  ///< settings of the session, for a recording
  /// True: recording begins after the threads, so that their start is not measured.
  bool threads_first = true;
  bool verbose = false;  ///< prints the tracer and its instance
};

/// The part of a run that depends on the tracer. One thread calls the members, in this order.
class OsnoiseTracerKind {
 public:
  virtual ~OsnoiseTracerKind() = default;
  /// Throws Error if this kernel's tracer cannot do what is requested.
  virtual void check(const std::filesystem::path& tracefs) const = 0;
  /// Files in `osnoise/` that configure() sets, except `cpus` and `options`.
  virtual std::span<const std::string_view> settings() const = 0;
  virtual void configure(const TracingSettings& settings) = 0;
  /// Sets events and options of an instance that has no tracer yet.
  virtual void prepare(const TracingInstance& instance) = 0;
  /// The tracer is on: threads of user space may begin. Throws Error.
  virtual void begin_threads(const std::filesystem::path&, const TracingInstance&) {}
  /// Called regularly. Throws Error if one of these threads has ended.
  virtual void check_threads() {}
  /// Recording is off, and the tracer is about to be switched off.
  virtual void end_threads() {}
  /// The assembler of the trace lines; its records reach the listener through deliver().
  virtual TracerAssembler& assembler() = 0;
  /// The tracer has switched recording off, and all lines before that were read: lets the assembler
  /// mark the record that passed a limit.
  virtual void find_what_stopped_it() = 0;
  /// All lines were read: delivers the last records.
  virtual void finish(const RecordHandler&) {}
  /// Notes for the report, at the end.
  virtual std::vector<std::string> notes() const = 0;
};

/// The kernel's timerlat or osnoise tracer, in a tracing instance of its own. The settings, which
/// the whole machine shares, are restored however this process ends. Used by one thread.
class OsnoiseTracer final : public Source {
 public:
  /// `kind` and `kernel` must outlive this object.
  OsnoiseTracer(OsnoiseTracerKind& kind, OsnoiseTracerRequest request, const Kernel& kernel);
  ~OsnoiseTracer() override;
  OsnoiseTracer(const OsnoiseTracer&) = delete;
  OsnoiseTracer& operator=(const OsnoiseTracer&) = delete;

  /// Throws Error if the kernel lacks the tracer, or cannot do what is requested.
  void check() override;
  std::string_view start_step() const override { return "preparing the kernel's tracer"; }
  SessionInfo start(const SpawnedProgram* program) override;
  KernelTime due(KernelTime now) const override;
  void poll(const RecordHandler& handler) override;
  bool is_over() override;
  bool is_over_limit() const override;
  KernelTime stop(SessionInfo& info, const RecordHandler& handler) override;
  Receipt receipt(SessionInfo& info, bool has_run) override;

  /// Gives a record to the handler of poll() or stop(); the receipt counts `events` for it.
  void deliver(const Record& record, std::uint64_t events = 1);
  /// Whether the run ended by itself, because ordinary threads did not get to run.
  bool starved() const;

 private:
  struct Run;
  std::unique_ptr<Run> run_;
};

/// The tracers in use, except nop: the file `current_tracer` of an instance, and its content.
std::vector<std::pair<std::filesystem::path, std::string>> tracers_in_use(
    const std::filesystem::path& tracefs);

/// A time for the tracers, which count whole microseconds: rounded up; 0 stays 0.
std::string in_whole_us(std::uint64_t ns);

}  // namespace overdue
