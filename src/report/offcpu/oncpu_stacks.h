#pragma once

#include <vector>

#include "core/record.h"
#include "core/stack_namer.h"
#include "flame/stack_tree.h"
#include "report/offcpu/table.h"
#include "report/stalls/flame.h"

namespace overdue {

/// Adds up samples of threads on CPUs by their functions, for a drawing beside their waits. Used by
/// one thread.
class OncpuStacks {
 public:
  /// `namer` must outlive this object.
  explicit OncpuStacks(StackNamer& namer) : namer_(namer) {}

  void use_names(const Names& names) { names_ = names; }
  /// Takes profile_sample records, and leaves others alone.
  void record(const Record& record);
  /// Adds the CPU time of `threads`: that of each thread, shared out among its samples. A thread
  /// without samples has one frame. The time is exact, its shares are estimates.
  void draw(const std::vector<OffcpuRow>& threads, FlameSink& to) const;

 private:
  StackNamer& namer_;
  Names names_;
  StackTree samples_;  ///< the outermost frame is the tid
};

}  // namespace overdue
