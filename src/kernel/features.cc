#include "kernel/features.h"

#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <vector>

#include "base/error.h"
#include "base/read_text.h"
#include "base/text.h"
#include "base/thread_rights.h"
#include "kernel/libbpf_log.h"
#include "kernel/private_mount.h"

namespace overdue {
namespace {

namespace fs = std::filesystem;

constexpr Facility facility_table[] = {
    {"privileges", "loading programs and reading what they see", &Kernel::privileges},
    {"btf", "BTF, the kernel's own types, which programs adapt to", &Kernel::btf},
    {"btf_tracepoints", "typed tracepoints: the default way to measure", &Kernel::btf_tracepoints},
    {"task_storage", "state per thread inside the kernel", &Kernel::task_storage},
    {"ring_buffer", "records to user space", &Kernel::ring_buffer},
    {"task_iterator", "adopting threads that run already", &Kernel::task_iterator},
    {"task_work", "user stacks of waits outside of system calls", &Kernel::task_work},
    {"python", "Python functions in user stacks", &Kernel::python_frames},
    {"interrupt_vectors", "time in local interrupts: timer, reschedule",
     &Kernel::interrupt_vectors},
    {"throttles", "time that the CPU quotas of cgroups take", &Kernel::throttles},
    {"single_runs", "names of calls newer than this build", &Kernel::single_runs},
    {"tracefs", "the kernel's own tracers and event list", &Kernel::tracefs},
    {"tracepoints", "one tracepoint per system call: --two-phase", &Kernel::tracepoints},
    {"cgroup2", "following cgroups v2", &Kernel::cgroup2},
    {"membarrier", "reading results without stopping the writers", &Kernel::membarrier},
    {"kernel_addresses", "names of kernel functions in stacks", &Kernel::kernel_addresses},
    {"cpu_clock", "sampling by timer", &Kernel::cpu_clock},
    {"hardware_pmu", "sampling by CPU cycles", &Kernel::hardware_pmu},
    {"uprobe", "functions and USDT of programs", &Kernel::uprobe},
    {"kprobe", "any kernel function", &Kernel::kprobe},
    {"fentry", "any kernel function, cheaply", &Kernel::fentry},
    {"lsm", "denying operations by policy", &Kernel::lsm},
    {"function_tracer", "the kernel's function tracer", &Kernel::function_tracer},
    {"bpf_stats", "the kernel's own account of our cost", &Kernel::bpf_stats},
};

}  // namespace

std::span<const Facility> facilities() {
  return facility_table;
}

void require_support(std::string_view what, const Support& support) {
  if (!support.yes) throw Error("cannot {}: {}", what, support.missing).hint(support.remedy);
}

std::string_view cgroup_layout_name(CgroupLayout layout) {
  constexpr std::string_view names[] = {"none", "v1", "v2", "v1 and v2"};
  return names[static_cast<std::size_t>(layout)];
}

Kernel::Kernel(fs::path proc, fs::path sys) : proc_(std::move(proc)), sys_(std::move(sys)) {}
Kernel::~Kernel() = default;

void Kernel::pretend_missing(const std::set<std::string>& names) {
  std::vector<std::string_view> known;
  for (const Facility& facility : facility_table) known.push_back(facility.name);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const std::string_view close = nearest(name, known);
      throw Error("unknown feature '{}' in --without", printable(name))
          .hint(close.empty() ? "`overdue doctor` lists the names"
                              : fmt::format("did you mean {}?", close))
          .exit_status(2);
    }
    missing_.insert(name);
  }
  answers_.clear();
}

Support Kernel::answer(std::string_view facility, std::string key, const Question& question) const {
  if (missing_.contains(facility)) {
    const auto hidden = std::find_if(std::begin(facility_table), std::end(facility_table),
                                     [&](const Facility& entry) { return entry.name == facility; });
    return Support::no(fmt::format("{} is hidden by --without ({})", facility, hidden->summary),
                       fmt::format("leave {} out of --without", facility));
  }
  if (const auto known = answers_.find(key); known != answers_.end()) return known->second;
  const LibbpfLog quiet;
  const ReadRights rights;
  return answers_.emplace(std::move(key), question()).first->second;
}

const CapabilitySet& Kernel::capabilities() const {
  if (!capabilities_) {
    try {
      capabilities_ = own_capabilities(proc_);
    } catch (const Error&) {
      capabilities_ = CapabilitySet(0);  // no /proc: claim nothing
    }
  }
  return *capabilities_;
}

Support Kernel::privileges() const {
  return answer("privileges", "privileges", [this]() -> Support {
    std::string lacking;
    for (const Capability capability : measuring_capabilities()) {
      if (capabilities().has(capability)) continue;
      if (!lacking.empty()) lacking += " and ";
      lacking += capability_name(capability);
    }
    if (lacking.empty()) return {};
    if (!capabilities().initial_namespace())
      return Support::no(lacking + " outside of any user namespace",
                         "run on the host, not in a user namespace");
    return Support::no("no " + lacking, how_to_get_capabilities(""));
  });
}

const std::string& Kernel::mounts() const {
  if (!mounts_) mounts_ = read_text(proc_ / "mounts").value_or("");
  return *mounts_;
}

CgroupLayout Kernel::cgroup_layout() const {
  bool v1 = false;
  bool v2 = false;
  for (const std::string_view line : split(mounts(), '\n')) {
    const auto words = split(line, ' ');
    if (words.size() < 3) continue;
    v1 |= words[2] == "cgroup";
    v2 |= words[2] == "cgroup2";
  }
  if (v1) return v2 ? CgroupLayout::hybrid : CgroupLayout::v1;
  return v2 ? CgroupLayout::v2 : CgroupLayout::none;
}

Support Kernel::cgroup2() const {
  return answer("cgroup2", "cgroup2", [this]() -> Support {
    const CgroupLayout layout = cgroup_layout();
    if (layout == CgroupLayout::v2 || layout == CgroupLayout::hybrid) return {};
    return Support::no("no cgroup2 file system is mounted",
                       "mount -t cgroup2 none /sys/fs/cgroup/unified");
  });
}

/// Whether another file system is mounted over the tracefs there.
bool Kernel::is_covered(const fs::path& tracefs) const {
  std::error_code not_known;
  return real() && !fs::exists(tracefs / "events", not_known) && !not_known;
}

std::optional<fs::path> Kernel::tracefs_path() const {
  if (missing_.contains("tracefs")) return std::nullopt;
  if (tracefs_) return *tracefs_;
  tracefs_.emplace();
  const fs::path usual = sys_ / "kernel/tracing";
  for (const std::string_view line : split(mounts(), '\n')) {
    const auto words = split(line, ' ');
    if (words.size() < 3 || words[2] != "tracefs") continue;
    const fs::path path = unescape_octal(words[1]);
    if (is_covered(path)) continue;
    if (!*tracefs_ || path == usual) *tracefs_ = path;
  }
  if (*tracefs_ || !real()) return *tracefs_;
  std::error_code ignored;
  if (fs::exists(sys_ / "kernel/debug/tracing/README", ignored)) {  // automounted by the access
    *tracefs_ = sys_ / "kernel/debug/tracing";
  } else {
    private_tracefs_ = mount_privately("tracefs");
    if (private_tracefs_) *tracefs_ = fmt::format("/proc/self/fd/{}", private_tracefs_.get());
  }
  return *tracefs_;
}

Support Kernel::tracefs() const {
  return answer("tracefs", "tracefs", [this]() -> Support {
    const auto path = tracefs_path();
    if (!path)
      return Support::no("tracefs is not mounted",
                         "mount -t tracefs nodev /sys/kernel/tracing (needs CONFIG_TRACING)");
    if (::access((*path / "events").c_str(), R_OK | X_OK) == 0) return {};
    const int error = errno;
    return Support::no(
        fmt::format("{} cannot be read: {}", printable(path->string()), errno_text(error)),
        error == EACCES ? "run as root, or with CAP_DAC_READ_SEARCH"
                        : "boot a kernel with CONFIG_FTRACE");
  });
}

Support Kernel::tracepoint(std::string_view category, std::string_view name) const {
  return answer(
      "tracepoints", fmt::format("tracepoint {}:{}", category, name), [&, this]() -> Support {
        if (Support base = tracefs(); !base.yes) return base;
        if (!read_word(*tracefs_path() / "events" / category / name / "id").empty()) return {};
        return Support::no(fmt::format("no tracepoint {}:{}", printable(category), printable(name)),
                           category == "syscalls"
                               ? "boot a kernel with CONFIG_FTRACE_SYSCALLS=y"
                               : "boot a kernel that has it, or load its module");
      });
}

Support Kernel::tracepoints() const {
  return tracepoint("syscalls", "sys_enter_openat");
}

Support Kernel::tracer(std::string_view name) const {
  return answer("tracefs", fmt::format("tracer {}", name), [&, this]() -> Support {
    if (Support base = tracefs(); !base.yes) return base;
    const std::string list = read_text(*tracefs_path() / "available_tracers").value_or("");
    if (has_word(list, name)) return {};
    return Support::no(fmt::format("the kernel has no tracer {}", printable(name)),
                       fmt::format("boot a kernel built with the {} tracer", printable(name)));
  });
}

Support Kernel::function_tracer() const {
  return answer("function_tracer", "function_tracer", [this]() -> Support {
    if (Support base = tracer("function"); !base.yes) return base;
    // A locked-down kernel lists the tracer, but refuses all files that select functions.
    const Fd file(
        ::open((*tracefs_path() / "available_filter_functions").c_str(), O_RDONLY | O_CLOEXEC));
    if (file) return {};
    return Support::no(
        fmt::format("the function tracer is listed, but refused: {}", errno_text(errno)),
        "boot without lockdown, with CONFIG_DYNAMIC_FTRACE=y");
  });
}

Support Kernel::membarrier() const {
  return answer("membarrier", "membarrier", []() -> Support {
    const long commands = ::syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    if (commands > 0 && (commands & MEMBARRIER_CMD_GLOBAL) != 0) return {};
    return Support::no("membarrier(2) is refused or absent",
                       "boot with CONFIG_MEMBARRIER=y and without nohz_full; let seccomp pass it");
  });
}

namespace {
bool any_address(std::string_view kallsyms) {
  while (!kallsyms.empty()) {
    const std::string_view line = kallsyms.substr(0, kallsyms.find('\n'));
    const std::size_t first = line.find_first_not_of('0');
    if (first < line.find(' ')) return true;
    kallsyms.remove_prefix(std::min(line.size() + 1, kallsyms.size()));
  }
  return false;
}
}  // namespace

Support Kernel::kernel_addresses() const {
  return answer("kernel_addresses", "kernel_addresses", [this]() -> Support {
    const Fd file(::open((proc_ / "kallsyms").c_str(), O_RDONLY | O_CLOEXEC));
    std::string lines(4096, '\0');
    const ssize_t got = file ? ::read(file.get(), lines.data(), lines.size()) : -1;
    if (got <= 0)
      return Support::no("/proc/kallsyms cannot be read", "boot a kernel with CONFIG_KALLSYMS=y");
    lines.resize(static_cast<std::size_t>(got));
    // More than the first address: if per-CPU variables have offsets as addresses (x86-64 before
    // 6.15, commit 9d7de2aa8b41), the first address is 0.
    if (any_address(lines)) return {};
    return Support::no("the kernel hides the addresses of its functions",
                       "run as root or with CAP_SYSLOG, and with kernel.kptr_restrict below 2");
  });
}

bool Kernel::preempt_rt() const {
  return read_word(sys_ / "kernel/realtime") == "1";
}

std::optional<int> Kernel::unprivileged_bpf_disabled() const {
  const std::string text = read_word(proc_ / "sys/kernel/unprivileged_bpf_disabled");
  int value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc())
    return std::nullopt;
  return value;
}

std::optional<std::string> Kernel::security_file(const char* name) const {
  if (auto text = read_text(sys_ / "kernel/security" / name)) return text;
  if (!real()) return std::nullopt;
  const Fd mount = mount_privately("securityfs");
  if (!mount) return std::nullopt;
  return read_text(fmt::format("/proc/self/fd/{}/{}", mount.get(), name));
}

std::string Kernel::lockdown() const {
  const std::string text = security_file("lockdown").value_or("");
  const std::size_t begin = text.find('[');
  const std::size_t end = text.find(']');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return "unknown";
  return printable(std::string_view(text).substr(begin + 1, end - begin - 1));
}

}  // namespace overdue
