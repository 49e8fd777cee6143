#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/finding.h"
#include "report/why/cause.h"
#include "report/why/sampling.h"

namespace overdue {

/// Time in which threads of late operations could run and had no CPU, or no right to one. Memory is
/// bounded; used by one thread.
class RunnableTime {
 public:
  struct Sums {
    std::uint64_t count = 0;    ///< operations
    std::uint64_t idle_ns = 0;  ///< a CPU had no thread, or was waking up
    std::map<std::string, WhyName> by;
  };
  /// Adds up what kept the finding's thread from running, by name.
  using By = void (*)(Sums& sums, const Finding&);
  /// The threads that had the CPU.
  static void runners(Sums& sums, const Finding& finding);
  /// The cgroups whose limit was used up.
  static void throttles(Sums& sums, const Finding& finding);

  explicit RunnableTime(By by) : by_(by) {}
  /// Takes `ns` of such time of an operation of a class.
  void add(const Finding& finding, const WhySampling::Class& of, std::uint64_t ns);
  /// With the weights of `sampling`.
  Sums weighted(const WhySampling& sampling, bool of_interval = false) const;
  std::uint64_t total_ns() const { return total_ns_; }
  std::uint64_t max_ns() const { return max_ns_; }
  /// Of the operations.
  const Breakdown& parts() const { return parts_; }
  const std::optional<Finding>& longest() const { return longest_; }
  /// The late threads, by name.
  const std::map<std::string, WhyName>& who() const { return who_; }

 private:
  By by_;
  std::uint64_t total_ns_ = 0, max_ns_ = 0;
  Breakdown parts_;
  std::optional<Finding> longest_;
  std::map<std::string, WhyName> who_;
  std::map<WhySampling::Class, Sums> classes_;
};

/// Makes the finding the example if its `ns` are more than `max_ns`.
void keep_longest(std::uint64_t& max_ns, std::optional<Finding>& example, const Finding& finding,
                  std::uint64_t ns);

std::uint64_t scaled(std::uint64_t number, double weight);

}  // namespace overdue
