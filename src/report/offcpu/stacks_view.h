#pragma once

#include <optional>
#include <string>

#include "report/offcpu/oncpu_stacks.h"
#include "report/offcpu/stacks.h"
#include "report/offcpu/view.h"
#include "source/listener.h"

namespace overdue {

/// Hands all calls on to a view of `offcpu`, and adds up waits by their stacks: for a table in its
/// report, for a drawing, and for a report that is a drawing. Used by one thread.
class OffcpuStacksView final : public MeasureListener {
 public:
  /// `view` and `namer` must outlive this object. `flame`: file of a drawing besides the report;
  /// empty: none.
  OffcpuStacksView(OffcpuView& view, StackNamer& namer, const OffcpuPlan& plan,
                   const std::string& flame);

  void begin(const SessionInfo& info) override;
  void use_names(const Names& names) override {
    stacks_.use_names(names);
    if (oncpu_) oncpu_->use_names(names);
  }
  void record(const Record& record) override;
  void interval(const SessionInfo& info, Duration wall) override { view_.interval(info, wall); }
  void tick() override;
  void settle() override { stacks_.finish(); }
  void end(const SessionInfo& info, const Receipt& receipt) override;

 private:
  OffcpuView& view_;
  bool has_table_;
  bool has_flame_file_;
  std::optional<FlameSink> drawing_;
  OffcpuStacks stacks_;
  std::optional<OncpuStacks> oncpu_;  ///< for the drawing
};

}  // namespace overdue
