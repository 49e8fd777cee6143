#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "live/live_stacks.h"
#include "report/offcpu/view.h"
#include "report/stalls/flame.h"
#include "report/stalls/view.h"
#include "source/listener.h"

namespace overdue {

/// Hands all calls on to the view of `offcpu`, and draws where the waits were: waits that took
/// `shortest` or longer with their stacks, the others of each thread in one frame. Used by one
/// thread.
class OffcpuFlame final : public MeasureListener {
 public:
  /// `view` and `stacks` must outlive this object.
  OffcpuFlame(OffcpuView& view, LiveStacks& stacks, const std::string& path, Duration shortest);

  void while_waiting(const std::function<void()>& meanwhile) override {
    stacks_.while_waiting(meanwhile);
  }
  void begin(const SessionInfo& info) override;
  void record(const Record& record) override;
  void polled() override { stacks_.follow(); }
  void interval(const SessionInfo& info, Duration wall) override { view_.interval(info, wall); }
  void tick() override;
  void settle() override { waits_.finish(); }
  void end(const SessionInfo& info, const Receipt& receipt) override;

 private:
  /// A sink that needs no findings: the drawing gets them.
  class NoSink final : public Sink {
    void begin(const SessionInfo&) override {}
    void record(const Record&) override {}
    void end(const SessionInfo&, const Receipt&) override {}
  };

  void draw_rest();

  OffcpuView& view_;
  LiveStacks& stacks_;
  NoSink no_sink_;
  FlameSink drawing_;
  std::string without_stack_;  ///< name of the frame of all other waits
  StallView waits_;
  std::map<std::uint32_t, std::uint64_t> drawn_ns_;  ///< by tid
};

}  // namespace overdue
