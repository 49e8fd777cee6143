#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "bpf/sched.h"

namespace overdue {

/// Names of softirqs by number; source: include/linux/interrupt.h.
inline constexpr std::array<std::string_view, 10> softirq_names{
    "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"};

/// Names of local interrupts by enum cpu_vector, as the kernel's tracepoints have them.
inline constexpr std::array<std::string_view, 6> vector_names{
    "", "local_timer", "reschedule", "call_function", "call_function_single", "irq_work"};

/// The name at `number`; empty if there is none.
template <std::size_t N>
constexpr std::string_view name_in(const std::array<std::string_view, N>& names,
                                   std::uint64_t number) {
  return number < N ? names[number] : std::string_view{};
}

/// The name at `number`; without one, the number.
template <std::size_t N>
std::string name_or_number(const std::array<std::string_view, N>& names, std::uint64_t number) {
  const std::string_view name = name_in(names, number);
  return name.empty() ? std::to_string(number) : std::string(name);
}

/// "NET_RX"; the number of a softirq without a name.
inline std::string softirq_name(std::uint64_t number) {
  return name_or_number(softirq_names, number);
}

/// The local interrupt of that name; VECTOR_NONE if there is none.
constexpr cpu_vector vector_named(std::string_view name) {
  const auto* const found = std::ranges::find(vector_names, name);
  return found == vector_names.end() ? VECTOR_NONE
                                     : static_cast<cpu_vector>(found - vector_names.begin());
}

}  // namespace overdue
