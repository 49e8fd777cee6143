#pragma once

#include <string>
#include <utility>

#include "core/recorded_stacks.h"
#include "report/spans/view.h"

namespace overdue {

/// Gives the records of a file to the view that a live run of `spans` uses.
class SpanReplay final : public Sink {
 public:
  /// `thresholds`: those of the recording; empty: it has every span.
  SpanReplay(SpanView& view, RecordedStacks& stacks, std::string thresholds)
      : view_(view), stacks_(stacks), thresholds_(std::move(thresholds)) {}
  void begin(const SessionInfo& info) override { view_.begin(info); }
  void record(const Record& record) override {
    if (record.schema->id == RECORD_FRAME)
      stacks_.frame(record);
    else
      view_.record(record);
  }
  void end(const SessionInfo& info, const Receipt& receipt) override {
    SessionInfo reported = info;
    if (!thresholds_.empty())
      reported.notes.push_back("the recording has no spans shorter than " + thresholds_);
    view_.finish();
    view_.end(std::move(reported), receipt);
  }

 private:
  SpanView& view_;
  RecordedStacks& stacks_;
  std::string thresholds_;
};

}  // namespace overdue
