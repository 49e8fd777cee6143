#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/explain.h"
#include "analysis/stall_assembler.h"
#include "analysis/wait_habits.h"
#include "cli/left_out.h"
#include "cli/thresholds.h"
#include "core/sink.h"
#include "core/stack_namer.h"
#include "probes/syscalls/classes.h"

namespace overdue {

struct StallViewOptions {
  Thresholds thresholds{};
  std::optional<Duration> timeout = {};           ///< of calls still open
  std::vector<span_kind> spans = {SPAN_SYSCALL};  ///< which kinds are looked for
  std::vector<std::uint32_t> cpus = {};           ///< where; empty: on all
  bool idle = false;                              ///< show waits that are no delay
  std::optional<SyscallSet> only = {};            ///< system calls that are looked at; nothing: all
  bool is_chosen = false;    ///< calls were chosen by name: theirs are shown all the same
  std::string keep_under{};  ///< only stalls whose user stack passes this function; empty: all
  std::uint64_t first = 3;   ///< how many of one cause are shown; 0: all
  std::function<void(const Finding&)> on_finding = {};  ///< called for each, shown or folded
};

/// Turns records, live or from a file, into findings and gives them to a sink: leaves out what is
/// idle, numbers them, folds those of one cause after the first few.
class StallView {
 public:
  /// `drawing`, if there is one, gets every finding: nothing is folded for it.
  StallView(StallViewOptions options, StackNamer& namer, Sink& sink, Sink* drawing = nullptr);

  void begin(const SessionInfo& info);
  /// From `at` on these hold.
  void change(KernelTime at, Thresholds thresholds, std::optional<Duration> timeout);
  void record(const Record& record) { assembler_.record(record); }
  /// Of a live session, whose records come up to now.
  void tick(KernelTime now);
  /// There are no more records: findings that waited for some go on without.
  void finish() { assembler_.finish(); }
  /// Says how many of each cause were not shown, then ends the sink.
  void end(SessionInfo info, Receipt receipt);

 private:
  struct Cause {
    std::uint64_t count = 0;  ///< of its findings, shown or not
    Repeats repeats;          ///< those that were not
  };

  /// The last late call of a thread: what waits for the thread, waits for this.
  struct LastCall {
    std::uint64_t begin_ns = 0, end_ns = 0;
    Stack user_stack;
  };

  void stall(const RawStall& stall);
  /// Says of the threads that were waited for where their own late calls came from.
  void add_callers(const RawStall& stall, Finding& finding);
  bool wanted(const RawStall& stall, const Finding& finding);
  /// Whether it was late, not only long.
  bool is_late(const RawStall& stall, const Finding& finding) const;
  /// Its call is one that was asked for by its name.
  bool is_asked_for(const RawStall& stall) const;
  void leave_out(const RawStall& stall, const Finding& finding);
  void name_call(const RawStall& stall, Finding& finding) const;
  /// Counts it among those of its cause; whether it is to be shown.
  bool is_news(Finding& finding);
  void note_hang(const RawStall& stall, Finding& finding);
  std::uint64_t threshold_of(const RawStall& stall) const;
  void look_for_waits();

  struct Settings {
    KernelTime from{};
    Thresholds thresholds;
    std::optional<Duration> timeout;
  };
  const Settings& settings_at(std::uint64_t time_ns) const;

  StallViewOptions options_;
  std::vector<Settings> settings_;  ///< as they were changed, oldest first
  StackNamer& namer_;
  Sink& sink_;
  Sink* drawing_;
  StallAssembler assembler_;
  SessionInfo info_;
  std::map<std::string, Cause> causes_;
  WaitHabits habits_;
  LeftOut left_out_;
  /// Calls that were open for long, and have not ended: thread and begin, and the finding; 0 where
  /// that was left out.
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> hangs_;
  std::uint64_t hung_ = 0;
  std::unordered_map<std::uint32_t, LastCall> last_calls_;  ///< by tid
  FrameCounts frames_;
  std::uint64_t found_ = 0, elsewhere_ = 0;
};

}  // namespace overdue
