#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/recorded_stacks.h"
#include "report/stalls/view.h"

namespace overdue {

/// Gives the records of a file to the view that a live run of `stalls` uses, with the recorded
/// names.
class StallReplay final : public Sink {
 public:
  StallReplay(StallView& view, RecordedStacks& stacks) : view_(view), stacks_(stacks) {}
  void begin(const SessionInfo& info) override { view_.begin(info); }
  void record(const Record& record) override {
    if (record.schema->id == RECORD_FRAME)
      stacks_.frame(record);
    else
      view_.record(record);
  }
  void end(const SessionInfo& info, const Receipt& receipt) override {
    SessionInfo reported = info;
    if (more_notes)
      for (std::string& note : more_notes()) reported.notes.push_back(std::move(note));
    view_.end(std::move(reported), receipt);
  }
  /// Notes on the replay itself.
  std::function<std::vector<std::string>()> more_notes;

 private:
  StallView& view_;
  RecordedStacks& stacks_;
};

}  // namespace overdue
