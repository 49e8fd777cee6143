#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/latency_table.h"
#include "core/session_info.h"
#include "report/offcpu/table.h"
#include "report/why/blame.h"
#include "report/why/cause.h"
#include "report/why/cpu_functions.h"
#include "report/why/disk_uses.h"
#include "report/why/file_locks.h"
#include "report/why/open_waits.h"
#include "report/why/others_waits.h"
#include "report/why/remarks.h"
#include "report/why/sampling.h"

namespace overdue {

/// The content of the report of `overdue why`.
struct WhyFigures {
  std::string verdict;
  std::uint64_t threshold_ns = 0;  ///< operations from this latency on were examined one by one
  Whose by = Whose::group;
  std::vector<WhyRow> groups;       ///< where the time went, by this word
  std::vector<WhyCause> causes;     ///< largest first
  std::vector<WhyCause> undecided;  ///< waits that may have been for work; longest in total first
  std::uint64_t late_ns = 0;        ///< of all causes, listed or not
  std::vector<WhyFunction> oncpu;   ///< most samples first
  std::vector<DiskUse> disks;       ///< by all processes of the machine; largest of a disk first
  std::vector<std::string> next;    ///< commands that show more
  std::size_t top = 0;              ///< rows of each part of a text; 0: the default
};

/// What the session has found.
struct WhyFindings {
  const SessionInfo& info;
  const std::vector<OffcpuRow>& threads;
  const BlameTable& blame;
  const BlameTable& undecided;  ///< waits of which no rule says what they were for
  const WhySampling& sampling;
  const CpuFunctions& cpu;
  const LatencyTable& calls;                    ///< by process
  const std::vector<FileLock>& locks;           ///< at the end of the session
  const std::vector<OtherSide>& sides;          ///< of waits that have not ended
  const std::vector<OtherEnd>& other_ends;      ///< likewise
  const std::vector<Remark>& limits;            ///< that processes have reached, by pid
  const std::vector<Remark>& memory_limits;     ///< that their cgroups have reached, by pid
  const std::vector<Remark>& disk_limits;       ///< of their cgroups, by pid
  const std::vector<Remark>& disk_writers;      ///< who wrote most to files, by pid
  const std::vector<Remark>& bound_threads;     ///< which wait for few CPUs, by tid
  const std::vector<Remark>& lower_priorities;  ///< than those of threads that ran, by tid
  const DiskUses& disks;
  std::uint64_t threshold_ns = 0;
  std::size_t causes_max = 20;  ///< causes in the figures
  bool of_interval = false;     ///< the findings are those of an interval
};

WhyFigures figures_of(const WhyFindings& found);

}  // namespace overdue
