#include "analysis/timerlat_assembler.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/text.h"

namespace overdue {
namespace {

constexpr std::size_t stack_frames_max = 256;
constexpr s16 priority_of_most = 120;
/// Times of lines are rounded to microseconds, and taken shortly after the event itself.
constexpr std::uint64_t rounding_ns = 1000;

/// The lower, the further inside. Device and local interrupts do not interrupt each other.
u32 depth_of(u32 kind) {
  return kind == NOISE_VECTOR ? u32{NOISE_IRQ} : kind;
}

template <std::size_t N>
void set_text(char (&bytes)[N], std::string_view text) {
  std::fill_n(bytes, N, '\0');
  text.copy(bytes, N - 1);
}

template <typename Value>
void append(std::vector<std::byte>& bytes, const Value& value) {
  const auto* const begin = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof value);
}

bool is_interrupt_entry(std::string_view function) {
  return function.starts_with("asm_sysvec_") || function.starts_with("asm_common_interrupt");
}

}  // namespace

TimerlatAssembler::TimerlatAssembler(const Schema& schema, Options options, RecordHandler handler)
    : schema_(schema), options_(std::move(options)), handler_(std::move(handler)) {
  for (const std::uint32_t cpu : options_.cpus) cpus_[cpu];
}

void TimerlatAssembler::line(std::string_view text) {
  if (last_ != nullptr && last_->in_stack) {
    if (const auto frame = parse_stack_line(text)) {
      add_frame(*last_, *frame);
      return;
    }
    last_->in_stack = false;
  }
  if (const auto lost = parse_lost_events(text)) {
    counts_.lost += lost->events;
    if (const auto found = cpus_.find(lost->cpu); found != cpus_.end()) {
      Cpu& cpu = found->second;
      if (cpu.has_thread)
        tell(cpu);
      else if (cpu.has_irq)
        ++counts_.unmatched;
      cpu.has_irq = false;
      cpu.noises.clear();
      cpu.reported_id = 0;
    }
    return;
  }
  const auto parsed = parse_trace_line(text);
  if (!parsed) return;
  if (const auto found = parse_timerlat_event(parsed->text)) event(*parsed, *found);
}

void TimerlatAssembler::event(const TraceLine& line, const TimerlatEvent& event) {
  using Kind = TimerlatEvent::Kind;
  if (event.kind == Kind::mark) {
    marked(event.id, line.time_ns);
    return;
  }
  const auto found = cpus_.find(line.cpu);
  if (found == cpus_.end()) return;
  Cpu& cpu = found->second;
  last_ = &cpu;
  switch (event.kind) {
    case Kind::irq:
      if (cpu.has_thread) tell(cpu);
      begin(cpu, line, event);
      break;
    case Kind::thread:
      reach_thread(cpu, line, event);
      break;
    case Kind::noise:
      add_noise(cpu, line, event.noise);
      break;
    case Kind::stack:
      cpu.in_stack = cpu.has_irq;
      cpu.stack_is_over = false;
      cpu.frames.clear();
      break;
    case Kind::stop:
      stop(cpu);
      break;
    case Kind::user:
      reach_user(cpu, event);
      break;
    case Kind::mark:
      break;
  }
}

void TimerlatAssembler::begin(Cpu& cpu, const TraceLine& line, const TimerlatEvent& event) {
  if (cpu.has_irq) ++counts_.unmatched;
  cpu.has_irq = true;
  cpu.has_thread = cpu.has_user = cpu.irq_is_exact = false;
  cpu.frames.clear();
  cpu.last_function.clear();
  cpu.irq_ns = line.time_ns;
  cpu.irq_latency_ns = event.latency_ns;
  timerlat_activation& activation = cpu.activation = {};
  activation.header.cpu = line.cpu;
  activation.id = event.id;
  activation.interrupted_tid = line.tid;
  activation.irq_preempt_count = preempt_count_of(line.flags);
  set_text(activation.interrupted, line.tid == 0 ? fmt::format("swapper/{}", line.cpu) : line.comm);
}

void TimerlatAssembler::reach_thread(Cpu& cpu, const TraceLine& line, const TimerlatEvent& event) {
  if (!cpu.has_irq || cpu.has_thread || cpu.activation.id != event.id ||
      event.latency_ns < cpu.irq_latency_ns) {
    ++counts_.unmatched;
    cpu.has_irq = cpu.has_thread = false;
    return;
  }
  cpu.has_thread = true;
  cpu.thread_latency_ns = event.latency_ns;
  cpu.activation.header.tid = cpu.activation.header.pid = line.tid;
  cpu.activation.thread_preempt_count = preempt_count_of(line.flags);
  if (options_.name_of && cpu.named_tid != line.tid) {
    cpu.named_tid = line.tid;
    cpu.name = options_.name_of(line.tid);
    if (cpu.name.empty()) cpu.name = line.comm;
  }
  cpu.activation.flags |= ACTIVATION_IN_THREAD;
  hold_noises(cpu);
}

/// The program has finished its work and asked for the next activation.
void TimerlatAssembler::reach_user(Cpu& cpu, const TimerlatEvent& event) {
  if (!cpu.has_irq && cpu.reported_id == 0) return;  // it began before the session
  if (!cpu.has_thread || cpu.has_user || cpu.activation.id != event.id ||
      event.latency_ns < cpu.thread_latency_ns) {
    ++counts_.unmatched;
    return;
  }
  cpu.has_user = true;
  cpu.user_latency_ns = event.latency_ns;
  hold_noises(cpu);
}

/// Some kernels also print memory after the end of the stack.
void TimerlatAssembler::add_frame(Cpu& cpu, const StackLine& frame) {
  constexpr std::uint64_t of_kernel = 0xffff000000000000;
  cpu.stack_is_over = cpu.stack_is_over || frame.address < of_kernel;
  if (cpu.stack_is_over || cpu.frames.size() == stack_frames_max) return;
  cpu.frames.push_back(frame.address);
  cpu.last_function = frame.function;
}

/// The kernel subtracts nested noise from the duration, and prints nested noise earlier.
void TimerlatAssembler::add_noise(Cpu& cpu, const TraceLine& line, timerlat_noise noise) {
  Noise added{.gross = noise, .net_ns = noise.end_ns - noise.begin_ns};
  std::uint64_t counts_from_ns = noise.begin_ns;
  if (cpu.has_irq && (noise.kind == NOISE_THREAD || noise.kind == NOISE_SOFTIRQ)) {
    // The duration of noise that the timer's own interrupt interrupted counts from the interrupt's
    // begin. The printed start of a softirq is earlier. The printed start of a thread is within the
    // handler, at the moment when the handler takes the latency.
    const auto timer = std::find_if(cpu.noises.rbegin(), cpu.noises.rend(), [&](const Noise& each) {
      return depth_of(each.gross.kind) == NOISE_IRQ && each.gross.begin_ns <= cpu.irq_ns &&
             each.gross.end_ns + rounding_ns >= cpu.irq_ns;
    });
    if (timer != cpu.noises.rend() && noise.begin_ns <= timer->gross.end_ns) {
      counts_from_ns = timer->gross.begin_ns;
      added.interrupted = noise.kind == NOISE_THREAD;
      if (added.interrupted && !cpu.irq_is_exact && noise.begin_ns >= timer->gross.begin_ns &&
          noise.begin_ns <= cpu.irq_ns + rounding_ns) {
        cpu.irq_ns = noise.begin_ns;
        cpu.irq_is_exact = true;
      }
    }
  }
  std::uint64_t end_ns = counts_from_ns + added.net_ns;
  for (const Noise& inner : cpu.noises)
    if (depth_of(inner.gross.kind) < depth_of(noise.kind) && inner.gross.begin_ns >= counts_from_ns)
      end_ns += inner.net_ns;
  if (noise.kind == NOISE_THREAD || noise.kind == NOISE_SOFTIRQ)
    end_ns = std::min<std::uint64_t>(end_ns, line.time_ns + rounding_ns);
  added.gross.end_ns = std::max(noise.begin_ns, end_ns);
  if (noise.kind == NOISE_THREAD) {
    added.gross.detail = priority_of_most;
    timerlat_activation& activation = cpu.activation;
    // The head of a line may lack the thread's name ("<...>").
    if (cpu.has_irq && noise.number == activation.interrupted_tid && noise.number != 0)
      set_text(activation.interrupted, fixed_text(noise.name));
  }
  cpu.noises.push_back(added);
  if (cpu.noises.size() > TIMERLAT_NOISES_MAX + 1) cpu.noises.pop_front();
}

void TimerlatAssembler::stop(Cpu& cpu) {
  if (!cpu.has_irq) return;
  set_stopped();
  cpu.activation.flags |= ACTIVATION_STOPPED;
  // The kernel stops recording in the interrupt: nothing is known about the thread.
  if (!cpu.has_thread) {
    cpu.activation.flags |= ACTIVATION_IN_IRQ | ACTIVATION_UNSEEN;
    cpu.thread_latency_ns = cpu.irq_latency_ns;
    hold_noises(cpu);
  }
  if (cpu.has_user && options_.name_of) hold_own_work(cpu);
  for (timerlat_noise& noise : cpu.held)
    if (noise.kind == NOISE_THREAD && options_.priority_of)
      noise.detail = options_.priority_of(noise.number);
  if (options_.name_of && options_.priority_of) {
    cpu.activation.flags |= ACTIVATION_HAS_PRIORITY;
    cpu.activation.thread_priority = 99 - options_.priority_of(cpu.activation.header.tid);
  }
  tell(cpu);
}

void TimerlatAssembler::stop_at(std::uint64_t irq_ns, std::uint64_t thread_ns) {
  if (stopped()) return;
  Cpu* first = nullptr;
  std::uint64_t first_ns = 0;
  for (auto& [number, cpu] : cpus_) {
    const bool in_irq =
        cpu.has_irq && !cpu.has_thread && irq_ns > 0 && cpu.irq_latency_ns >= irq_ns;
    const bool in_thread = cpu.has_thread && thread_ns > 0 && cpu.latency_ns() >= thread_ns;
    if (!in_irq && !in_thread) continue;
    const std::uint64_t at_ns =
        cpu.irq_ns + (in_thread ? cpu.latency_ns() - cpu.irq_latency_ns : 0);
    if (first != nullptr && at_ns >= first_ns) continue;
    first = &cpu;
    first_ns = at_ns;
  }
  if (first != nullptr) stop(*first);
}

/// Copies the noise of the present activation, before later noise replaces it in `noises`.
void TimerlatAssembler::hold_noises(Cpu& cpu) {
  const std::uint64_t begin_ns = cpu.irq_ns - std::min(cpu.irq_ns, cpu.irq_latency_ns);
  const std::uint64_t end_ns = begin_ns + cpu.latency_ns();
  cpu.held.clear();
  cpu.activation.flags &= ~u32{ACTIVATION_CUT};
  for (auto each = cpu.noises.rbegin(); each != cpu.noises.rend(); ++each) {
    timerlat_noise noise = each->gross;
    const bool is_idle = noise.kind == NOISE_THREAD && noise.number == 0;
    if (noise.end_ns <= begin_ns || noise.begin_ns >= end_ns || is_idle) continue;
    if (cpu.held.size() == TIMERLAT_NOISES_MAX) {
      cpu.activation.flags |= ACTIVATION_CUT;
      break;
    }
    if (each->interrupted) noise.begin_ns = std::min<std::uint64_t>(noise.begin_ns, begin_ns);
    noise.begin_ns = monotonic(noise.begin_ns);
    noise.end_ns = monotonic(noise.end_ns);
    cpu.held.push_back(noise);
  }
}

/// Adds the program's own time after the switch to its thread, without the time of other threads.
void TimerlatAssembler::hold_own_work(Cpu& cpu) {
  const std::uint64_t expires_ns = monotonic(cpu.irq_ns - std::min(cpu.irq_ns, cpu.irq_latency_ns));
  const std::uint64_t end_ns = expires_ns + cpu.user_latency_ns;
  std::vector<timerlat_noise> others;
  for (const timerlat_noise& noise : cpu.held)
    if (noise.kind == NOISE_THREAD) others.push_back(noise);
  std::sort(others.begin(), others.end(),
            [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
  timerlat_noise own{};
  own.kind = NOISE_THREAD;
  own.number = cpu.activation.header.tid;
  set_text(own.name, cpu.name);
  const auto add = [&](std::uint64_t from_ns, std::uint64_t to_ns) {
    own.begin_ns = from_ns;
    own.end_ns = to_ns;
    if (from_ns < to_ns && cpu.held.size() < TIMERLAT_NOISES_MAX) cpu.held.push_back(own);
  };
  std::uint64_t from_ns = expires_ns + cpu.thread_latency_ns;
  for (const timerlat_noise& noise : others) {
    add(from_ns, std::min<std::uint64_t>(noise.begin_ns, end_ns));
    from_ns = std::max<std::uint64_t>(from_ns, noise.end_ns);
  }
  add(from_ns, end_ns);
}

void TimerlatAssembler::tell(Cpu& cpu) {
  timerlat_activation activation = cpu.activation;
  const std::uint64_t expires_ns = cpu.irq_ns - std::min(cpu.irq_ns, cpu.irq_latency_ns);
  if (is_interrupt_entry(cpu.last_function)) activation.flags |= ACTIVATION_USER_MODE;
  activation.expires_ns = monotonic(expires_ns);
  activation.irq_ns = activation.expires_ns + cpu.irq_latency_ns;
  event_header& header = activation.header;
  header.time_ns = activation.expires_ns + cpu.thread_latency_ns;
  if (cpu.has_user) activation.user_ns = activation.expires_ns + cpu.user_latency_ns;
  header.kind = RECORD_TIMERLAT;
  set_text(header.comm, options_.name_of ? cpu.name : fmt::format("timerlat/{}", header.cpu));
  activation.noises = static_cast<u16>(cpu.held.size());
  activation.kernel_frames = static_cast<u16>(cpu.frames.size());
  header.size = static_cast<u16>(sizeof activation + cpu.held.size() * sizeof(timerlat_noise) +
                                 cpu.frames.size() * sizeof(u64));
  std::vector<std::byte> bytes;
  append(bytes, activation);
  for (const timerlat_noise& noise : cpu.held) append(bytes, noise);
  for (const std::uint64_t address : cpu.frames) append(bytes, address);
  cpu.has_irq = cpu.has_thread = cpu.has_user = false;
  const bool ours = activation.expires_ns >= begin_ns() && activation.expires_ns <= end_ns();
  if (!ours && !(activation.flags & ACTIVATION_STOPPED)) return;
  count_missed(cpu, activation.expires_ns);
  if (activation.flags & ACTIVATION_CUT) ++counts_.unmatched;
  handler_({&schema_, bytes});
}

void TimerlatAssembler::count_missed(Cpu& cpu, std::uint64_t expires_ns) {
  const std::uint64_t id = cpu.activation.id;
  if (cpu.reported_id != 0 && id == cpu.reported_id + 1 && expires_ns > cpu.reported_expires_ns) {
    const std::uint64_t apart_ns = expires_ns - cpu.reported_expires_ns;
    const std::uint64_t periods = (apart_ns + options_.period_ns / 2) / options_.period_ns;
    if (periods > 1) cpu.missed += periods - 1;
  }
  cpu.reported_id = id;
  cpu.reported_expires_ns = expires_ns;
}

void TimerlatAssembler::finish() {
  for (auto& [number, cpu] : cpus_) {
    if (cpu.has_thread)
      tell(cpu);
    else if (cpu.has_irq)
      ++counts_.cut;
    cpu.has_irq = false;
  }
}

std::uint64_t TimerlatAssembler::missed(std::uint32_t cpu) const {
  const auto found = cpus_.find(cpu);
  return found == cpus_.end() ? 0 : found->second.missed;
}

}  // namespace overdue
