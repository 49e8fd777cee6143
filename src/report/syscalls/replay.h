#pragma once

#include "report/syscalls/view.h"

namespace overdue {

/// Gives the records of a file to the view that a live run of `syscalls` uses.
class SyscallReplay final : public Sink {
 public:
  explicit SyscallReplay(SyscallView& view) : view_(view) {}
  void begin(const SessionInfo& info) override { view_.begin(info); }
  void record(const Record& record) override { view_.record(record); }
  void end(const SessionInfo& info, const Receipt& receipt) override { view_.end(info, receipt); }

 private:
  SyscallView& view_;
};

}  // namespace overdue
