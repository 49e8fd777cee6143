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

/// Makes activations, as the timerlat probe records them, of what the kernel's timerlat tracer and
/// its osnoise events print into `trace_pipe`. Bounded, whatever it is given: lines of up to 4096
/// bytes, as many noises of a CPU as a record has, and only the CPUs asked for.
///
/// The tracer's figures are kept to the nanosecond. Where they lie on the clock is known from the
/// lines' times to about a microsecond; with thread noise better, as that begins in the timer's
/// handler. Durations of noise are net; gross ends are made of them, as all that was taken off is
/// an event before. Of threads that were interrupted by the timer noise begins with the handler;
/// they are taken to have had the CPU before that too.
class TimerlatAssembler final : public TracerAssembler {
 public:
  struct Options {
    std::vector<std::uint32_t> cpus{};
    std::uint64_t period_ns = 1'000'000;
    /// How urgent a thread is, as the kernel counts; asked only for what stopped the run.
    std::function<std::int16_t(std::uint32_t tid)> priority_of{};
    /// Where the threads are a program's own: what they are called. Asked once for each.
    std::function<std::string(std::uint32_t tid)> name_of{};
  };

  /// `schema` is that of timerlat_activation; it and `handler` are kept.
  TimerlatAssembler(const Schema& schema, Options options, RecordHandler handler);

  /// Activations are held until the next of their CPU begins, as what belongs to them may follow.
  void finish() override;
  /// The tracer has switched recording off, which is all that some kernels do at a limit: marks the
  /// activation that is over it. 0: no limit. To be called before finish().
  /// `thread_ns` is for the way back to the program too, where that is seen.
  void stop_at(std::uint64_t irq_ns, std::uint64_t thread_ns);

  /// Periods in which the thread was late still: there was no activation.
  std::uint64_t missed(std::uint32_t cpu) const;

 private:
  /// With times of the trace's clock.
  struct Noise {
    timerlat_noise gross{};
    std::uint64_t net_ns = 0;
    bool interrupted = false;  ///< by the timer: it was there before
  };
  struct Cpu {
    std::deque<Noise> noises;  ///< the last ones, in the order of their ends
    bool has_irq = false, has_thread = false, has_user = false, in_stack = false;
    timerlat_activation activation{};  ///< of it: id, flags, who was interrupted
    std::uint64_t irq_latency_ns = 0, thread_latency_ns = 0, user_latency_ns = 0;
    std::uint64_t irq_ns = 0;  ///< on the trace's clock, as well as it is known
    bool irq_is_exact = false;
    std::vector<timerlat_noise> held;  ///< of the activation, newest first
    std::vector<std::uint64_t> frames;
    bool stack_is_over = false;  ///< what follows are no addresses
    std::string last_function;   ///< of the stack
    std::uint64_t told_id = 0, told_expires_ns = 0;
    std::uint64_t missed = 0;
    std::uint32_t named_tid = 0;
    std::string name;  ///< of that thread
    /// When the last step of the activation that is known was taken.
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
  Cpu* last_ = nullptr;  ///< whose line was the last: a stack is its
};

}  // namespace overdue
