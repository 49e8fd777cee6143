#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "core/session_info.h"
#include "source/probe_set.h"

namespace overdue {

/// Answers the requests of `overdue ctl` to a measurement. Used by the measuring thread.
class Controls {
 public:
  Controls(Session& session, ProbeSet& probe_set, const SessionInfo& info)
      : session_(session), probe_set_(probe_set), info_(info) {}

  /// The answer to a request, a line of words: one line of JSON. Throws nothing.
  std::string answer(std::string_view request);

  bool wants_stop() const { return stop_; }
  /// "measuring was paused 2 times, for 3.10s in all"; empty: never.
  std::string note(KernelTime end) const;

 private:
  /// False: `verb` is not a request of one word.
  bool act(std::string_view verb);
  void pause();
  void resume();

  Session& session_;
  ProbeSet& probe_set_;
  const SessionInfo& info_;
  bool stop_ = false;
  bool paused_ = false;
  unsigned pauses_ = 0;
  KernelTime paused_at_{};
  Duration paused_for_{};
};

}  // namespace overdue
