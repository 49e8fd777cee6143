#include "report/offcpu/cpus.h"

#include <algorithm>

#include "report/offcpu/sections.h"

namespace overdue {
namespace {

/// The sums of a record, as a row.
OffcpuRow sums_of(const offcpu_cpu& record) {
  OffcpuRow row;
  row.oncpu_ns = record.sums.oncpu_ns;
  row.sleeping_ns = record.sums.sleeping_ns;
  row.uninterruptible_ns = record.sums.uninterruptible_ns;
  row.runqueue_ns = record.sums.runqueue_ns;
  row.preempted_ns = record.sums.preempted_ns;
  row.throttled_ns = record.sums.throttled_ns;
  row.switches = record.waits;
  row.preemptions = record.preemptions;
  return row;
}

}  // namespace

void describe(Members& member, const OffcpuCpu& cpu) {
  member.type("offcpu_cpu", "Where the threads were that left a CPU");
  member("cpu", cpu.cpu);
  describe_sums(member, cpu.figures);
}

void OffcpuCpus::add(const Record& record) {
  if (record.schema->id != RECORD_OFFCPU_CPU) return;
  const auto fixed = record.as<offcpu_cpu>();
  Cpu& cpu = cpus_[fixed.header.cpu];
  const OffcpuRow now = sums_of(fixed);
  cpu.interval.add_growth(now, cpu.last);
  cpu.total.set_sums(now);
  for (OffcpuRow* row : {&cpu.total, &cpu.interval}) {
    row->max_ns = std::max(row->max_ns, fixed.longest_ns);
    row->open_ns = fixed.open_ns;
  }
  cpu.last = now;
}

void OffcpuCpus::end_interval() {
  for (auto& [number, cpu] : cpus_) cpu.interval = {};
}

std::vector<OffcpuCpu> OffcpuCpus::rows(OffcpuRow Cpu::* of) const {
  std::vector<OffcpuCpu> rows;
  for (const auto& [number, cpu] : cpus_) {
    const OffcpuRow& figures = cpu.*of;
    if (figures.oncpu_ns + figures.offcpu_ns() > 0) rows.push_back({number, figures});
  }
  return rows;
}

}  // namespace overdue
