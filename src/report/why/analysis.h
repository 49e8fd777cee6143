#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "core/stack_namer.h"
#include "probes/syscalls/table.h"
#include "report/offcpu/table.h"
#include "report/stalls/view.h"
#include "report/why/answers.h"
#include "report/why/blame.h"
#include "report/why/cpu_functions.h"
#include "report/why/disk_uses.h"
#include "report/why/figures.h"
#include "report/why/others_waits.h"
#include "report/why/purposes.h"
#include "report/why/sampling.h"
#include "report/why/unnamed_code.h"
#include "source/kept_options.h"

namespace overdue {

/// The settings of a session of `why` that its report needs.
struct WhyPlan {
  /// Latency from which on operations are examined one by one, at the start.
  Duration threshold = std::chrono::milliseconds(1);
  Duration timeout = std::chrono::seconds(1);  ///< age of calls that are still open
  std::vector<span_kind> spans = {SPAN_SYSCALL, SPAN_OFFCPU, SPAN_TCP_CONNECT, SPAN_TCP_ANSWER,
                                  SPAN_UNIX_ANSWER};
  std::vector<std::uint32_t> cpus = {};  ///< empty: all
  Whose by = Whose::group;               ///< rows of where the time went
  std::size_t top = 0;                   ///< rows of each part of a text; 0: the default
  bool spawned = false;                  ///< true: the program uses Overdue's stdout
  /// Whether each question over a unix socket, once it is answered, has a span.
  bool sees_unix_questions = false;
};

/// Chooses by one of why_words; throws Error (exit status 2) for any other word.
void choose_rows(WhyPlan& plan, std::string_view word);

/// The plan as a recording keeps it, and back; a damaged setting gets its default.
KeptOptions kept_options(const WhyPlan& plan);
WhyPlan kept_why_plan(const SessionInfo& info);

/// Finds the causes of late time in the records of a session, live or from a file. One thread.
class WhyAnalysis {
 public:
  /// `namer` must outlive this object. `interval`: the length of the intervals that have figures of
  /// their own, with the late time of each thread; 0: none.
  WhyAnalysis(const WhyPlan& plan, StackNamer& namer, Duration interval = {});

  void begin(const SessionInfo& info);
  /// For findings and reports from now on.
  void use_names(const Names& names);
  void record(const Record& record);
  /// As MeasureListener::tick() and settle().
  void tick() { stalls_.tick(now_); }
  void settle() { stalls_.finish(); }
  void end(const SessionInfo& info, const Receipt& receipt) { stalls_.end(info, receipt); }

  /// The figures of the session until now; `info` has its duration.
  WhyFigures figures(const SessionInfo& info) const;
  /// The threads of the session until now.
  std::vector<OffcpuRow> threads() const { return threads_.rows(Whose::thread); }

  /// The figures and the threads since the last call of end_interval(). `wall`: its length.
  WhyFigures interval_figures(const SessionInfo& info, Duration wall) const;
  std::vector<OffcpuRow> interval_threads() const { return threads_.interval_rows(Whose::thread); }
  void end_interval();

  /// Processes that wait for the lock of a file, or try to get it again and again. Their locks are
  /// expected in the session's information: see keep_file_locks().
  std::set<std::uint32_t> lock_waiters(const SessionInfo& info) const;
  /// The ends of pipes and sockets that late operations wait for. Likewise, see keep_other_ends().
  std::set<AwaitedEnd> awaited_ends() const;
  /// Waits for locks that have not ended, and those of `threads`, see threads(), that are stopped.
  /// Likewise, see keep_other_sides().
  std::vector<OpenWait> open_waits(const std::vector<OffcpuRow>& threads) const;
  /// Processes whose calls fail since something is used up. Likewise, see keep_remarks().
  std::map<std::uint32_t, Shortage> shortages(const SessionInfo& info) const;
  /// Processes that reclaim memory at the limit of their cgroup. Likewise, see keep_remarks().
  std::set<std::uint32_t> reclaimers() const;
  /// Processes with late waits for a disk. Likewise, see keep_remarks().
  std::set<std::uint32_t> disk_waiters() const;
  /// Sockets that may be those of clients. Likewise, see keep_opened_sockets().
  std::set<ProcessSocket> sockets() const { return session_.answers.sockets(); }
  /// What was not examined, or not kept apart, in sentences.
  std::vector<std::string> notes() const;
  /// Late operations that were not examined, since equal ones were.
  std::uint64_t left_out() const { return sampling_.left_out(); }

 private:
  /// What records and findings add up to.
  struct Sums {
    explicit Sums(const BlameTable::Rules& rules);
    BlameTable blame;
    Answers answers;
    SyscallTable calls;
    CpuFunctions cpu;
  };
  /// What only the end of a session, or of an interval, decides.
  struct AtEnd {
    LatencyTable calls;              ///< by process
    std::set<ProcessSocket> opened;  ///< whose connection their process has opened
    std::vector<Finding> late{};     ///< waits for answers
  };
  /// Findings are blamed as they come: the sink need not keep them.
  class NoSink final : public Sink {
    void end(const SessionInfo&, const Receipt&) override {}
  };

  void take(const Finding& finding);
  void leave_out(const Finding& finding);
  bool wants_user_stacks(const RawStall& stall);
  void blame(const Finding& finding, const WhySampling::Class& of);
  void note_question(const span_record& span);
  bool add_answer(const Finding& finding);
  void end_call(std::uint32_t tid);
  std::uint64_t timeout_ns() const { return static_cast<std::uint64_t>(plan_.timeout.count()); }
  void add_sample(const Record& record);
  static AtEnd at_end(const Sums& sums, const SessionInfo& info);
  std::vector<Purposes::Part> parts_by_purpose(const AtEnd& at_end, const SessionInfo& info,
                                               const std::vector<OffcpuRow>& threads) const;
  std::vector<WhyRow> rows_of_time(const Names& names) const;
  WhyFigures figures_of_sums(const Sums& sums, const AtEnd& at_end,
                             const std::vector<OffcpuRow>& threads, const SessionInfo& info,
                             KernelTime end) const;

  WhyPlan plan_;
  StackNamer& namer_;
  KernelTime now_{};  ///< of the last record
  Names names_;
  NoSink no_sink_;
  UnnamedCode unnamed_;
  WhySampling sampling_;
  Sums session_;
  BlameTable undecided_;  ///< waits that may have been for work
  bool has_intervals_;
  Sums interval_;
  StallView stalls_;
  OffcpuTable threads_;
  DiskUses disks_;
  CpuHolders holders_;
  Purposes purposes_;
};

}  // namespace overdue
