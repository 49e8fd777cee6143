#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "report/output.h"
#include "report/why/analysis.h"
#include "source/listener.h"
#include "top/layout.h"
#include "top/screen.h"
#include "top/state.h"

namespace overdue {

/// Shows the analysis of `why` on the terminal while the session runs, and its report at the end.
/// One thread.
class TopView final : public MeasureListener {
 public:
  /// Adds what is known of the session at present to its information: see NamingListener.
  using Complete = std::function<void(SessionInfo&)>;

  /// `namer` must outlive this object.
  TopView(const WhyPlan& plan, StackNamer& namer, Duration interval)
      : analysis_(plan, namer, interval) {}
  void set_complete(Complete complete) { complete_ = std::move(complete); }

  void begin(const SessionInfo& info) override;
  void use_names(const Names& names) override { analysis_.use_names(names); }
  void record(const Record& record) override { analysis_.record(record); }
  void add_to(std::vector<pollfd>& waits) const override;
  void polled() override;
  bool wants_receipts() const override { return true; }
  void so_far(const SessionInfo& info, const Receipt& receipt) override;
  void interval(const SessionInfo& info, Duration wall) override;
  void tick() override { analysis_.tick(); }
  bool has_quit() const override { return has_quit_; }
  void ending() override { screen_.reset(); }
  void settle() override { analysis_.settle(); }
  void end(const SessionInfo& info, const Receipt& receipt) override;

  const WhyAnalysis& analysis() const { return analysis_; }

 private:
  /// The figures of the session, or of an interval.
  struct Figures {
    std::vector<OffcpuRow> threads;
    WhyFigures why;
    Duration wall{};
  };

  void act(TopAction action);
  const Figures& shown();
  void show_rows();
  void explain();
  /// Writes the report so far into a new file. Returns a sentence about the file.
  std::string save();
  std::string loss_text() const;
  void draw();

  WhyAnalysis analysis_;
  Complete complete_;
  std::unique_ptr<TopScreen> screen_;  ///< from the first polled() to ending()
  TopState state_;
  SessionInfo info_;  ///< at the end of the last interval
  Receipt receipt_;
  Figures interval_, session_;
  bool has_quit_ = false;
};

}  // namespace overdue
