// Properties of a machine that make results slow, wrong or confusing, although no command fails.
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "base/read_text.h"
#include "base/text.h"
#include "base/thread_rights.h"
#include "report/doctor/findings.h"

namespace overdue {
namespace {

namespace fs = std::filesystem;

class Traps {
 public:
  void add(std::string name, std::string what, std::string remedy) {
    found_.push_back({std::move(name), std::move(what), std::move(remedy)});
  }
  std::vector<Trap> take() { return std::move(found_); }

 private:
  std::vector<Trap> found_;
};

std::optional<int> setting(const fs::path& path) {
  const std::string text = read_word(path);
  int value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc())
    return std::nullopt;
  return value;
}

void find_in_environment(Traps& traps) {
  const char* const servers = std::getenv("DEBUGINFOD_URLS");
  if (servers != nullptr && *servers != '\0')
    traps.add("DEBUGINFOD_URLS",
              "set: tools that look up symbols may wait minutes for these servers",
              "unset DEBUGINFOD_URLS; Overdue asks them with --debuginfod only");
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < 1024)
    traps.add("RLIMIT_NOFILE",
              fmt::format("only {} files may be open: too few for --two-phase", files.rlim_cur),
              "ulimit -n 4096");
  if (!in_initial_pid_namespace())
    traps.add("pid namespace",
              "process ids the kernel reports are those of the host, not those seen here",
              "run in the host's pid namespace (docker: --pid=host)");
}

void find_in_settings(Traps& traps, const Kernel& kernel) {
  const auto paranoid = setting("/proc/sys/kernel/perf_event_paranoid");
  if (paranoid && *paranoid > 2 && !kernel.capabilities().has(Capability::perfmon))
    traps.add("perf_event_paranoid",
              fmt::format("{}: events of ordinary users are refused", *paranoid),
              "run as root or with CAP_PERFMON, or sysctl kernel.perf_event_paranoid=1");
  if (setting("/proc/sys/kernel/kptr_restrict").value_or(0) >= 2)
    traps.add("kptr_restrict",
              "2: even root sees no kernel addresses, so kernel stacks have no names",
              "sysctl kernel.kptr_restrict=1");
  if (setting("/proc/sys/kernel/bpf_stats_enabled").value_or(0) != 0)
    traps.add("bpf_stats_enabled",
              "left on: the kernel times every run of every BPF program, ours included",
              "sysctl kernel.bpf_stats_enabled=0");
  if (kernel.lockdown() == "confidentiality")
    traps.add("lockdown", "confidentiality: BPF programs may not read kernel memory",
              "boot with lockdown=integrity");
  if (setting("/proc/sys/dev/tty/legacy_tiocsti").value_or(0) != 0)
    traps.add(
        "legacy_tiocsti",
        "1: a program may type into its terminal, so one that root starts for a user may type "
        "into root's shell; Overdue forbids that to those it starts, others may not",
        "sysctl dev.tty.legacy_tiocsti=0");
  if (const auto programs = kernel.attached_tracing_programs(); programs && *programs > 0)
    traps.add(
        "other tracers",
        fmt::format("{} BPF programs of others are attached to tracepoints or functions: what "
                    "they cost is in every latency",
                    *programs),
        "bpftool link lists them; stop them, or compare only runs with them");
}

void find_in_clock(Traps& traps, const Diagnosis& diagnosis) {
  constexpr std::string_view fast[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page",
                                       "arch_sys_counter"};
  const std::string& source = diagnosis.clocksource;
  if (source.empty() || std::find(std::begin(fast), std::end(fast), source) != std::end(fast))
    return;
  traps.add("clocksource",
            fmt::format("{}: reading the time costs {:.0f} ns, and every latency takes two reads",
                        printable(source), diagnosis.clock_read_ns),
            "boot with tsc=reliable where the hardware allows it; see available_clocksource");
}

/// The process id in `overdue-PID` or `overdue-PID-…`; nothing for other names.
std::optional<int> owner_of(std::string_view instance) {
  constexpr std::string_view prefix = "overdue-";
  if (!instance.starts_with(prefix)) return std::nullopt;
  int pid = 0;
  const char* const end = instance.data() + instance.size();
  const auto [rest, error] = std::from_chars(instance.data() + prefix.size(), end, pid);
  if (error != std::errc() || pid <= 0 || (rest != end && *rest != '-')) return std::nullopt;
  return pid;
}

void find_in_tracefs(Traps& traps, const Kernel& kernel) {
  const auto path = kernel.tracefs_path();
  if (!kernel.tracefs().yes || !path) return;
  const ReadRights rights;
  const fs::path& tracefs = *path;
  const std::string tracer = read_word(tracefs / "current_tracer");
  if (!tracer.empty() && tracer != "nop")
    traps.add("tracer",
              fmt::format("the kernel's {} tracer is on, for everything", printable(tracer)),
              "overdue does not touch it: echo nop > " + (tracefs / "current_tracer").string());
  if (read_word(tracefs / "events/enable").starts_with("1"))
    traps.add("events", "every event of the kernel is being traced",
              "echo 0 > " + (tracefs / "events/enable").string());
  if (!in_initial_pid_namespace()) return;  // the host's processes are unseen
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(tracefs / "instances", ignored)) {
    const std::string name = entry.path().filename().string();
    const std::optional<int> owner = owner_of(name);
    if (!owner || fs::exists(fmt::format("/proc/{}", *owner), ignored)) continue;
    traps.add("stale instance",
              fmt::format("a tracefs instance whose Overdue is dead: {}", printable(name)),
              "rmdir " + printable(entry.path().string()));
  }
}

}  // namespace

std::vector<Trap> find_traps(const Kernel& kernel, const Diagnosis& diagnosis) {
  Traps traps;
  find_in_environment(traps);
  find_in_settings(traps, kernel);
  find_in_clock(traps, diagnosis);
  find_in_tracefs(traps, kernel);
  return traps.take();
}

double clock_read_cost_ns() {
  constexpr int reads = 2000;
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    const KernelTime start = KernelClock::now();
    for (int i = 0; i < reads; ++i) (void)KernelClock::now();
    const double each = static_cast<double>((KernelClock::now() - start).count()) / reads;
    if (round == 0 || each < best) best = each;
  }
  return best;
}

}  // namespace overdue
