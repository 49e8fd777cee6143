#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "base/time.h"
#include "bpf/offcpu.h"
#include "core/finding.h"
#include "report/offcpu/table.h"
#include "report/why/row.h"
#include "report/why/sampling.h"

namespace overdue {

/// What blocked threads waited for, where a system call's name leaves the purpose open. Only
/// operations that were examined show a purpose. Memory is bounded: what does not fit keeps the
/// reason that the call's name gives. Used by one thread.
class Purposes {
 public:
  enum class Use : std::uint8_t {
    network,  ///< the other side of a socket
    lock,     ///< a lock of the kernel
    sleep,    ///< a time that the program asked for
    work
  };
  /// A part of the blocked time of a thread: it counts for a use instead of for a reason.
  struct Part {
    std::uint32_t tid = 0;
    wait_reason from = REASON_OTHER;
    Use use = Use::work;
    double ns = 0;
  };

  /// Takes a late operation, or one that is no delay, of a class.
  void add(const Finding& finding, const WhySampling::Class& of);
  /// A call of the thread has ended, and its record is not examined.
  void end_call(std::uint32_t tid) { open_.erase(tid); }

  /// With the weights of `sampling`. `threads`: all of the session, each by itself, at `end`.
  std::vector<Part> parts(const WhySampling& sampling, const std::vector<OffcpuRow>& threads,
                          KernelTime end) const;

 private:
  using Key = std::tuple<std::uint32_t, wait_reason, Use>;
  struct Open {
    KernelTime time{};  ///< at which the call was seen to be open
    wait_reason from = REASON_OTHER;
    Use use = Use::work;
  };

  void add(const Finding& finding, const WhySampling::Class& of, wait_reason from, Use use,
           std::uint64_t ns);

  std::map<WhySampling::Class, std::map<Key, std::uint64_t>> sums_;
  std::map<std::uint32_t, Open> open_;  ///< calls that have not ended, by tid
  std::size_t kept_ = 0;
};

/// The time in which event loops waited while an answer was late. `answers`: late ones.
std::vector<Purposes::Part> parts_of_answers(const std::vector<Finding>& answers,
                                             const std::vector<OffcpuRow>& threads);

/// Moves the parts, of threads of the rows, from their reasons to their uses. All sums of the rows
/// stay as they are: parts that add up to more than their reason has get all of it, and waits for
/// the network come before others.
void find_purposes(std::vector<WhyRow>& rows, Whose by, const std::vector<OffcpuRow>& threads,
                   const std::vector<Purposes::Part>& parts);

}  // namespace overdue
