#include "kernel/bpf_stats.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <vector>

#include "base/error.h"
#include "kernel/membership.h"

namespace overdue {
namespace {

constexpr std::chrono::milliseconds measured_for{200};

}  // namespace

std::unique_ptr<BpfStats> BpfStats::begin() {
  const int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
  if (fd < 0) return nullptr;
  return std::unique_ptr<BpfStats>(new BpfStats(Fd(fd)));
}

BpfRuns bpf_runs(const bpf_object* object) {
  BpfRuns sum;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object) {
    bpf_prog_info info{};
    std::uint32_t size = sizeof info;
    const int fd = bpf_program__fd(program);
    if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) != 0) continue;
    sum.runs += info.run_cnt;
    sum.ns += info.run_time_ns;
    sum.missed += info.recursion_misses;
  }
  return sum;
}

RunCost::RunCost(const bpf_object* object, const bpf_map* runs)
    : RunCost(object, [runs] {
        const std::size_t words = (bpf_map__value_size(runs) + 7) / 8;
        std::vector<std::uint64_t> of_cpus(possible_cpu_count() * words);
        const std::uint32_t zero = 0;
        check(bpf_map_lookup_elem(bpf_map__fd(runs), &zero, of_cpus.data()),
              "cannot read how often our programs have run");
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < of_cpus.size(); i += words) sum += of_cpus[i];
        return sum;
      }) {}

void RunCost::measure(KernelTime now) {
  stats_ = BpfStats::begin();
  until_ = now + measured_for;
}

void RunCost::poll(KernelTime now) {
  if (now >= until_) stats_.reset();
}

BpfRuns RunCost::cost() const {
  const BpfRuns measured = bpf_runs(object_);
  if (measured.runs == 0 || measured.ns == 0) return {};
  const std::uint64_t all = runs() - runs_before_;
  const double each = static_cast<double>(measured.ns) / static_cast<double>(measured.runs);
  return {.runs = all, .ns = static_cast<std::uint64_t>(each * static_cast<double>(all))};
}

}  // namespace overdue
