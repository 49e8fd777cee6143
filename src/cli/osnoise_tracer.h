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
#include "cli/measure.h"
#include "kernel/tracing_instance.h"
#include "kernel/tracing_settings.h"

namespace overdue {

/// What one of the kernel's tracers is to do that have their settings in tracefs' `osnoise/`,
/// "timerlat" or "osnoise".
struct OsnoiseTracerRequest {
  std::string tracer{};  ///< of our command too
  std::vector<std::uint32_t> cpus{};
  std::string cpus_text{};             ///< as given; empty: all
  std::optional<int> priority{};       ///< of SCHED_FIFO; none: what the threads give themselves
  bool kernel_threads = true;          ///< else others are measured: the kind's, or a program's
  std::vector<std::string> options{};  ///< of osnoise/options: "TIMERLAT_ALIGN", "NO_…"
  /// Recording begins when the threads are there: their first while is not to be measured.
  bool threads_first = true;
  std::optional<Duration> duration{};
  std::optional<Duration> interval{};
  bool quiet = false;
  bool verbose = false;  ///< say what was attached
  bool streams = false;  ///< the listener writes while we measure
};

/// What one of the two makes of that. Called in this order, by one thread.
class OsnoiseTracerKind {
 public:
  virtual ~OsnoiseTracerKind() = default;
  /// Throws Error where something was asked for that this kernel's tracer does not do.
  virtual void check(const std::filesystem::path& tracefs) const = 0;
  /// Files in `osnoise/` that configure() sets, but for `cpus` and `options`.
  virtual std::span<const std::string_view> settings() const = 0;
  virtual void configure(const TracingSettings& settings) = 0;
  /// Events and options of an instance that has no tracer yet.
  virtual void prepare(const TracingInstance& instance) = 0;
  /// The tracer is on: threads that are not the kernel's may begin. Throws Error.
  virtual void begin_threads(const std::filesystem::path&, const TracingInstance&) {}
  /// Now and then. Throws Error where something has ended them.
  virtual void check_threads() {}
  /// Nothing is recorded any more, and the tracer is about to be switched off.
  virtual void end_threads() {}
  /// Of the lines; it hands over records, which reach the listener by deliver().
  virtual TracerAssembler& assembler() = 0;
  /// The tracer has switched recording off, and all that was read until then: the assembler is to
  /// mark what was over a limit.
  virtual void find_what_stopped_it() = 0;
  /// At the end, for the report.
  virtual std::vector<std::string> notes() const = 0;
};

/// Measures with one of those tracers, in a tracing instance of our own. The settings, which are
/// the machine's, are put back however this process ends. One thread.
class OsnoiseTracer {
 public:
  /// `kind` is kept.
  OsnoiseTracer(OsnoiseTracerKind& kind, OsnoiseTracerRequest request);
  ~OsnoiseTracer();

  /// From start to end. Returns the exit status: 3 where a limit ended it, else 0. Throws Error
  /// where the kernel does not have the tracer or refuses, or somebody else uses it.
  int run(const Kernel& kernel, MeasureListener& listener);
  /// A record for the listener of run(); `events` are what the receipt counts.
  void deliver(const Record& record, std::uint64_t events = 1);
  /// It has ended by itself, because no CPU had time for ordinary threads.
  bool starved() const;

 private:
  struct Run;
  std::unique_ptr<Run> run_;
};

/// Who has which tracer, but for nop: files `current_tracer` and what they say.
std::vector<std::pair<std::filesystem::path, std::string>> tracers_in_use(
    const std::filesystem::path& tracefs);

/// The tracers count whole microseconds: as long as that, or longer; 0 is none.
std::string in_whole_us(std::uint64_t ns);

}  // namespace overdue
