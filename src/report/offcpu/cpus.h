#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "bpf/offcpu.h"
#include "core/members.h"
#include "core/record.h"
#include "report/offcpu/table.h"

namespace overdue {

/// Where the threads were that left a CPU. The figures of all CPUs add up to those of all threads.
struct OffcpuCpu {
  std::uint32_t cpu = 0;
  OffcpuRow figures{};  ///< without an owner, threads, `wall_ns` and displacers
};

void describe(Members& member, const OffcpuCpu& cpu);

/// Adds records up, by CPU. One thread.
class OffcpuCpus {
 public:
  void add(const Record& record);
  /// All CPUs since the start, or since the last call of end_interval(), in order; without those
  /// that no thread was on.
  std::vector<OffcpuCpu> rows() const { return rows(&Cpu::total); }
  std::vector<OffcpuCpu> interval_rows() const { return rows(&Cpu::interval); }
  void end_interval();

 private:
  struct Cpu {
    OffcpuRow last, total, interval;
  };
  std::vector<OffcpuCpu> rows(OffcpuRow Cpu::* of) const;

  std::map<std::uint32_t, Cpu> cpus_;
};

}  // namespace overdue
