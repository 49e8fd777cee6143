#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/timerlat_lines.h"
#include "analysis/tracer_assembler.h"
#include "core/record.h"

namespace overdue {

/// Makes activation records, as the timerlat probe writes them, from the text that the kernel's
/// timerlat tracer and its osnoise events print into `trace_pipe`. Bounded for any input: lines of
/// up to 4096 bytes, as many noise entries of a CPU as a record has room for, and only the CPUs
/// asked for.
///
/// The tracer's figures are kept to the nanosecond. Their place on the clock is known to about a
/// microsecond from the times of the lines, and more exactly with thread noise, which begins in the
/// timer's handler. The kernel prints net durations of noise. The assembler adds nested noise,
/// which the kernel prints earlier, to get gross ends. The kernel lets the noise of a thread that
/// the timer interrupted begin in the handler. The thread is assumed to have run since the expiry.
class TimerlatAssembler final : public TracerAssembler {
 public:
  struct Options {
    std::vector<std::uint32_t> cpus{};
    std::uint64_t period_ns = 1'000'000;
    /// Priority of a thread in the kernel's numbers. Called only for an activation that stopped the
    /// run.
    std::function<std::int16_t(std::uint32_t tid)> priority_of{};
    /// Name of a measured thread that belongs to a program; unset if the threads are the kernel's.
    /// Called once for each thread.
    std::function<std::string(std::uint32_t tid)> name_of{};
  };

  /// `schema` is the schema of timerlat_activation and has to outlive the assembler, which keeps
  /// `handler`.
  TimerlatAssembler(const Schema& schema, Options options, RecordHandler handler);

  /// Delivers the held activations. Each activation is held until the next of its CPU begins,
  /// because lines that belong to it may follow.
  void finish() override;
  /// Marks the first activation over a limit as the one that stopped the run. Called before
  /// finish(), after the tracer has switched recording off: at a limit, some kernels do nothing
  /// more. Limits in nanoseconds; 0: no limit. `thread_ns` also applies to the way back to the
  /// program, if that is measured.
  void stop_at(std::uint64_t irq_ns, std::uint64_t thread_ns);

  /// Number of periods without an activation, because the thread was still late.
  std::uint64_t missed(std::uint32_t cpu) const;

 private:
  /// A noise entry; times are of the trace's clock.
  struct Noise {
    timerlat_noise gross{};
    std::uint64_t net_ns = 0;
    bool interrupted = false;  ///< a thread that the timer interrupted
  };
  struct Cpu {
    std::deque<Noise> noises;  ///< the latest, in the order of their ends
    bool has_irq = false, has_thread = false, has_user = false, in_stack = false;
    timerlat_activation activation{};  ///< known so far: id, flags, the interrupted thread
    std::uint64_t irq_latency_ns = 0, thread_latency_ns = 0, user_latency_ns = 0;
    std::uint64_t irq_ns = 0;  ///< time of the interrupt on the trace's clock; see irq_is_exact
    bool irq_is_exact = false;
    std::vector<timerlat_noise> held;  ///< noise of the activation, newest first
    std::vector<std::uint64_t> frames;
    bool stack_is_over = false;  ///< the following frames are no addresses
    std::string last_function;   ///< outermost function of the stack
    std::uint64_t reported_id = 0, reported_expires_ns = 0;
    std::uint64_t missed = 0;
    std::uint32_t named_tid = 0;
    std::string name;  ///< name of thread named_tid
    /// Latency until the last known step of the activation.
    std::uint64_t latency_ns() const { return has_user ? user_latency_ns : thread_latency_ns; }
  };

  void line(std::string_view text) override;
  void event(const TraceLine& line, const TimerlatEvent& event);
  void begin(Cpu& cpu, const TraceLine& line, const TimerlatEvent& event);
  void reach_thread(Cpu& cpu, const TraceLine& line, const TimerlatEvent& event);
  void reach_user(Cpu& cpu, const TimerlatEvent& event);
  void add_noise(Cpu& cpu, const TraceLine& line, timerlat_noise noise);
  void add_frame(Cpu& cpu, const StackLine& frame);
  void stop(Cpu& cpu);
  void hold_noises(Cpu& cpu);
  void hold_own_work(Cpu& cpu);
  void tell(Cpu& cpu);
  void count_missed(Cpu& cpu, std::uint64_t expires_ns);

  const Schema& schema_;
  Options options_;
  RecordHandler handler_;
  std::map<std::uint32_t, Cpu> cpus_;
  Cpu* last_ = nullptr;  ///< CPU of the last line; the lines of a stack belong to it
};

}  // namespace overdue
