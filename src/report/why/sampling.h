#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "bpf/span.h"
#include "core/finding.h"
#include "core/record.h"

namespace overdue {

/// Chooses the late operations that are explained: all of them while they are few, and of very many
/// equal ones some. Operations are of one class if their kind, their call and the name of their
/// thread are equal, and if they ended in the same part of the session: the first moments, in which
/// Overdue itself has much to do, must not stand for the whole. Each part is as long as all before
/// it. Used by one thread.
class WhySampling {
 public:
  /// The kind, the call, the name of the thread without numbers, the part of the session, and
  /// whether the operation was the longest of the class so far: such an operation stands for itself
  /// alone.
  using Class = std::tuple<std::string_view, std::string, std::string, int, bool>;
  Class class_of(const Finding& finding) const;

  /// Counts the operation. Whether to explain it: the longest of a class always. `names` name
  /// system calls.
  bool wants(const span_record& span, const Names& names);
  /// The same for the user stacks of a time off the CPU in which the thread could run: all such
  /// times count, whether they have stacks or not.
  bool wants_stacks(const span_record& span);
  /// Time of all operations of the finding's class for that of an explained one; 1 if all were
  /// explained. `of_interval`: of those since the last call of end_interval(), if one was
  /// explained.
  double weight(const Class& of, bool of_interval = false) const;
  /// From the first call on, a few operations of each class are explained in every interval.
  void end_interval();
  /// Operations that were not explained.
  std::uint64_t left_out() const { return left_out_; }

 private:
  /// `longer`: how many times as long as the longest so far an operation is that is always wanted.
  bool wants(Class of, const event_header& header, std::uint64_t latency_ns, double longer);
  int part_of_session(std::uint64_t time_ns) const;
  Class class_of_span(const span_record& span, const Names& names) const;

  struct Sums {
    std::uint64_t seen_ns = 0, explained_ns = 0, explained = 0;
  };
  struct Count {
    Sums session, interval;
    std::uint64_t longest_ns = 0;
  };

  std::map<Class, Count> classes_;
  std::set<std::pair<std::uint64_t, std::uint32_t>> longest_;  ///< end and tid; bounded
  std::uint64_t begin_ns_ = 0;                                 ///< the end of the first operation
  std::uint64_t credit_ = 0;       ///< operations that may be explained now
  std::uint64_t credited_ns_ = 0;  ///< time until which credit was given
  std::uint64_t left_out_ = 0;
  bool has_intervals_ = false;
};

}  // namespace overdue
