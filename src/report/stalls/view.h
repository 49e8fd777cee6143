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
#include "core/sink.h"
#include "core/stack_namer.h"
#include "report/stalls/chosen.h"
#include "report/stalls/left_out.h"
#include "report/stalls/thresholds.h"
#include "report/why/blame.h"
#include "syscalls/classes.h"

namespace overdue {

class FlameSink;

struct StallViewOptions {
  Thresholds thresholds{};
  std::optional<Duration> timeout = {};           ///< age from which open calls are found
  std::vector<span_kind> spans = {SPAN_SYSCALL};  ///< kinds to look for
  std::vector<std::uint32_t> cpus = {};           ///< CPUs to look at; empty: all
  bool waits_within_calls = true;       ///< time off the CPU within a system call is a span as well
  bool idle = false;                    ///< shows waits that are no delay
  std::optional<SyscallSet> only = {};  ///< system calls to look at; nothing: all
  bool is_chosen = false;     ///< calls were chosen by name: their idle waits are shown too
  std::string keep_under{};   ///< only stalls with this function in the user stack; empty: all
  bool narrowed = false;      ///< records of lower thresholds come too, with shorter spans
  std::uint64_t first = 3;    ///< number of findings shown per cause; 0: all
  bool only_summary = false;  ///< shows the sums of the causes alone
  std::size_t top = 0;        ///< rows of the sums of a text; 0: the default
  bool sums = true;           ///< shows the sums of the causes at the end
  /// Whether to resolve the user stacks of a finding, most of its cost; empty: always.
  std::function<bool(const RawStall&)> wants_user_stacks = {};
  std::function<void(const Finding&)> on_finding = {};   ///< called for each finding, shown or not
  std::function<void(const Finding&)> on_left_out = {};  ///< for each finding that is no delay
  /// Called for each finding of an operation that the kernel counts, with its latency in ns and
  /// whether it is no delay.
  std::function<void(const MeasuredKind&, std::uint64_t, bool)> on_examined = {};
};

/// Turns records, live or from a file, into findings for a sink: leaves out idle waits, numbers the
/// findings, and folds findings of one cause after the first few.
class StallView {
 public:
  /// `drawing`, or null, gets every finding, unfolded.
  StallView(StallViewOptions options, StackNamer& namer, Sink& sink, FlameSink* drawing = nullptr);

  void begin(const SessionInfo& info);
  /// For findings from now on.
  void use_names(const Names& names) { info_.names = names; }
  /// The settings that hold from `at` on.
  void change(KernelTime at, Thresholds thresholds, std::optional<Duration> timeout);
  void record(const Record& record);
  /// For a live session: records up to about `now` have come.
  void tick(KernelTime now);
  /// No more records come: findings that waited for records go on without them.
  void finish() { assembler_.finish(); }
  /// Reports how many findings of each cause were not shown, then ends the sink.
  void end(SessionInfo info, Receipt receipt);

 private:
  struct Cause {
    std::uint64_t count = 0;  ///< number of findings, shown or not
    Repeats repeats;          ///< findings that were not shown
  };

  /// The last late call of a thread: a thread that waits for this thread waits for the call.
  struct LastCall {
    std::uint64_t begin_ns = 0, end_ns = 0;
    Stack user_stack;
  };

  void stall(const RawStall& stall);
  /// Adds the user stacks of the wakers' own late calls to the chain.
  void add_callers(const RawStall& stall, Finding& finding);
  bool wanted(const RawStall& stall, const Finding& finding);
  /// Whether the stall was late, not only long.
  bool is_late(const RawStall& stall, const Finding& finding) const;
  /// Whether the stall is of a call that was chosen by name.
  bool is_asked_for(const RawStall& stall) const;
  void leave_out(const RawStall& stall, const Finding& finding);
  void name_call(const RawStall& stall, Finding& finding) const;
  /// Counts the finding for its cause. Returns whether to show it.
  bool is_news(Finding& finding);
  void note_hang(const RawStall& stall, Finding& finding);
  void show(const Finding& finding);
  /// Reports how many findings of each cause were not shown.
  void show_repeats();
  /// Reports late time by its root.
  void show_causes(const SessionInfo& info);
  std::uint64_t threshold_of(const RawStall& stall) const;
  /// The operations with whose percentile the stall is compared, if its threshold is one.
  static MeasuredKind kind_of(const RawStall& stall);
  void look_for_waits();

  struct Settings {
    KernelTime from{};
    Thresholds thresholds;
    std::optional<Duration> timeout;
  };
  const Settings& settings_at(std::uint64_t time_ns) const;
  Finding explained(const RawStall& stall);

  StallViewOptions options_;
  std::vector<Settings> settings_;  ///< at the start and after each change, oldest first
  StackNamer& namer_;
  Sink& sink_;
  FlameSink* drawing_;
  BlameTable blame_;
  StallAssembler assembler_;
  ChosenThresholds chosen_;
  SessionInfo info_;
  std::map<std::string, Cause> causes_;
  WaitHabits habits_;
  LeftOut left_out_;
  /// Hangs whose calls have not ended: numbers of the findings, 0 if left out, by tid and begin of
  /// the call.
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> hangs_;
  std::uint64_t hung_ = 0;
  std::unordered_map<std::uint32_t, LastCall> last_calls_;  ///< by tid
  FrameCounts frames_;
  std::uint64_t shown_threshold_ns_ = 0;  ///< of the last finding that was shown
  std::vector<bool> shown_;               ///< by the number of a finding
  std::uint64_t found_ = 0, elsewhere_ = 0;
};

}  // namespace overdue
