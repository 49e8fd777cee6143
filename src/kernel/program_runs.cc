#include "kernel/program_runs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <vector>

#include "kernel/membership.h"

namespace overdue {
namespace {

/// The runs of one program on one CPU. Runs after the last timed one are assumed to cost the mean
/// of the earlier ones.
ProgramRuns price_one(const run_cost& seen) {
  ProgramRuns result{.runs = seen.runs};
  if (seen.priced == 0) return result;
  const auto priced = static_cast<double>(seen.priced);
  const double all = static_cast<double>(seen.runs) / priced;
  const double mean = static_cast<double>(seen.ns) / priced;
  result.ns = static_cast<double>(seen.ns) * all;
  result.target_ns = static_cast<double>(seen.target_ns) * all;
  const double spread = static_cast<double>(seen.squares) / priced - mean * mean;
  const double weights = static_cast<double>(seen.weights);
  const double timed = priced * priced / weights;  // effective number of runs of equal weight
  // A single run has no spread: its deviation is assumed to be as large as its time.
  const double of_one = timed < 1.5 ? mean * mean : spread * timed / (timed - 1);
  result.variance = of_one > 0 ? of_one * weights * all * all : 0;
  return result;
}

}  // namespace

ProgramRuns price(std::span<const run_cost> of_cpus) {
  ProgramRuns sum;
  for (const run_cost& seen : of_cpus) {
    const ProgramRuns one = price_one(seen);
    sum.runs += one.runs;
    sum.ns += one.ns;
    sum.target_ns += one.target_ns;
    sum.variance += one.variance;
  }
  return sum;
}

ProgramRuns program_runs(const bpf_object* object) {
  const int map = bpf_object__find_map_fd_by_name(object, "run_costs");
  std::vector<run_costs> of_cpus(possible_cpu_count());
  const std::uint32_t zero = 0;
  if (map < 0 || bpf_map_lookup_elem(map, &zero, of_cpus.data()) != 0) return {};
  std::vector<run_cost> all;
  for (const run_costs& here : of_cpus) all.insert(all.end(), here.of, here.of + PROGRAMS_MAX);
  return price(all);
}

KernelAccount kernels_account(const bpf_object* object) {
  KernelAccount sum;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object) {
    if (bpf_program__expected_attach_type(program) == BPF_TRACE_ITER) continue;
    bpf_prog_info info{};
    std::uint32_t size = sizeof info;
    const int fd = bpf_program__fd(program);
    if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) != 0) continue;
    sum.missed += info.recursion_misses;
    sum.runs += info.run_cnt;
    sum.ns += info.run_time_ns;
  }
  return sum;
}

}  // namespace overdue
