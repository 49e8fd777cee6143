#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/stack_namer.h"
#include "probes/syscalls/table.h"
#include "report/offcpu/table.h"
#include "report/output.h"
#include "report/stalls/view.h"
#include "report/why/answers.h"
#include "report/why/blame.h"
#include "report/why/cpu_functions.h"
#include "report/why/disk_uses.h"
#include "report/why/sampling.h"
#include "source/kept_options.h"
#include "source/listener.h"

namespace overdue {

/// The settings of a session of `why` that its report needs.
struct WhyPlan {
  /// Latency from which on operations are examined one by one, at the start.
  Duration threshold = std::chrono::milliseconds(1);
  Duration timeout = std::chrono::seconds(1);  ///< age of calls that are still open
  std::vector<span_kind> spans = {SPAN_SYSCALL, SPAN_OFFCPU, SPAN_TCP_CONNECT};
  std::vector<std::uint32_t> cpus = {};  ///< empty: all
  Whose by = Whose::group;               ///< rows of where the time went
  std::size_t top = 0;                   ///< rows of each part of a text; 0: the default
  bool spawned = false;                  ///< true: the program uses Overdue's stdout
};

/// Chooses by one of why_words; throws Error (exit status 2) for any other word.
void choose_rows(WhyPlan& plan, std::string_view word);

/// The plan as a recording keeps it, and back; a damaged setting gets its default.
KeptOptions kept_options(const WhyPlan& plan);
WhyPlan kept_why_plan(const SessionInfo& info);

/// Finds the causes of a session, and shows them at the end. One thread.
class WhyView final : public MeasureListener {
 public:
  /// `output` and `namer` must outlive this object.
  WhyView(WhyPlan plan, const OutputOptions& output, StackNamer& namer);

  void begin(const SessionInfo& info) override;
  void record(const Record& record) override;
  void interval(const SessionInfo&, Duration) override {}
  void tick() override { stalls_.tick(now_); }
  void settle() override { stalls_.finish(); }
  void end(const SessionInfo& info, const Receipt& receipt) override;

  /// Processes that wait for the lock of a file, or try to get it again and again. Their locks are
  /// expected in the session's information at end(): see keep_file_locks().
  std::set<std::uint32_t> lock_waiters(const SessionInfo& info) const;
  /// Waits that have not ended. Their other sides are expected likewise: see keep_other_sides().
  std::vector<OpenWait> open_waits() const { return blame_.open_waits(); }
  /// Sockets that may be those of clients; see keep_opened_sockets().
  std::set<ProcessSocket> sockets() const { return answers_.sockets(); }

 private:
  /// Findings are blamed as they come: the sink need not keep them.
  class NoSink final : public Sink {
    void end(const SessionInfo&, const Receipt&) override {}
  };

  /// Takes a late operation.
  void take(const Finding& finding);
  std::vector<OffcpuRow> rows_of_time(const Names& names) const;

  WhyPlan plan_;
  KernelTime now_{};  ///< of the last record
  Names names_;
  const OutputOptions& options_;
  StackNamer& namer_;
  ReportOutput report_;
  NoSink no_sink_;
  WhySampling sampling_;
  BlameTable blame_;
  Answers answers_;
  StallView stalls_;
  OffcpuTable threads_;
  SyscallTable calls_{GroupBy{.process = true}};
  CpuFunctions cpu_;
  DiskUses disks_;
};

}  // namespace overdue
