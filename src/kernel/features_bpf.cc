// The half of Kernel that needs privileges: it probes the kernel by loading, attaching and opening.
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/error.h"
#include "base/read_text.h"
#include "base/text.h"
#include "kernel/features.h"
#include "kernel/kernel_btf.h"

namespace overdue {
namespace {

namespace fs = std::filesystem;

// A function made to be traced: only the kernel's own BPF tests call it.
constexpr const char* harmless_function = "bpf_fentry_test1";
// A hook that is called only when a process reads the kernel log.
constexpr const char* harmless_hook = "bpf_lsm_syslog";
constexpr const char* task_iterator_function = "bpf_iter_task";
constexpr std::uint64_t bpf_security_module = 109;  // LSM_ID_BPF of <linux/lsm.h>

constexpr std::string_view by_lockdown =
    "boot a kernel whose text may be patched (no lockdown, CONFIG_DYNAMIC_FTRACE=y)";

/// Loads `return 0` for an attachment to the kernel function with BTF id `function`. On failure,
/// the Fd is empty and errno has the reason.
Fd load_for(bpf_prog_type type, bpf_attach_type attachment, int function) {
  bpf_insn program[2] = {};
  program[0].code = BPF_ALU64 | BPF_MOV | BPF_K;
  program[1].code = BPF_JMP | BPF_EXIT;
  bpf_prog_load_opts options = {};
  options.sz = sizeof options;
  options.expected_attach_type = attachment;
  options.attach_btf_id = static_cast<__u32>(function);
  const int fd = bpf_prog_load(type, "overdue_ask", "GPL", program, 2, &options);
  if (fd < 0) errno = -fd;
  return Fd(fd < 0 ? -1 : fd);
}

Fd open_event(perf_event_attr& attributes, pid_t pid, int cpu) {
  attributes.size = sizeof attributes;
  return Fd(static_cast<int>(
      ::syscall(SYS_perf_event_open, &attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
}

std::optional<std::uint32_t> event_type(const fs::path& sys, const char* device) {
  const std::string text = read_word(sys / "bus/event_source/devices" / device / "type");
  std::uint32_t type = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), type).ec != std::errc())
    return std::nullopt;
  return type;
}

int first_cpu(const fs::path& sys) {
  const std::string online = read_word(sys / "devices/system/cpu/online");
  int cpu = 0;
  std::from_chars(online.data(), online.data() + online.size(), cpu);
  return cpu;
}

/// For systems without securityfs: looks for the id of the BPF security module, since Linux 6.8.
/// Empty on older kernels.
std::optional<bool> bpf_module_is_active() {
  constexpr long sys_lsm_list_modules = 461;
  std::uint64_t ids[32] = {};
  std::uint32_t size = sizeof ids;
  const long count = ::syscall(sys_lsm_list_modules, ids, &size, 0);
  if (count < 0) return std::nullopt;
  return std::find(ids, ids + std::min(count, 32L), bpf_security_module) !=
         ids + std::min(count, 32L);
}

/// `since` is the first kernel release with this type.
std::string enabled_by(bpf_map_type type, std::string_view since) {
  return fmt::format("boot Linux {} or newer (it has BPF maps of type {})", since,
                     libbpf_bpf_map_type_str(type));
}

}  // namespace

Support Kernel::btf() const {
  return answer("btf", "btf", [this]() -> Support {
    const fs::path file = sys_ / "kernel/btf/vmlinux";
    if (::access(file.c_str(), R_OK) == 0) return {};
    return Support::no(
        fmt::format("no BTF of the running kernel ({}: {})", file.string(), errno_text(errno)),
        "boot a kernel with CONFIG_DEBUG_INFO_BTF=y");
  });
}

bool Kernel::btf_has_string(std::string_view text) const {
  // Searching the string section alone takes a tenth of the time of parsing.
  if (!btf_strings_) btf_strings_ = btf_strings(sys_ / "kernel/btf/vmlinux");
  const std::string wanted = fmt::format("{}{}{}", '\0', text, '\0');
  if (btf_strings_->find(wanted) != std::string::npos) return true;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(sys_ / "kernel/btf", error)) {
    if (entry.path().filename() == "vmlinux") continue;
    if (read_text(entry.path()).value_or("").find(wanted) != std::string::npos) return true;
  }
  return false;
}

const TracepointTypes& Kernel::types() const {
  if (!types_) types_ = std::make_unique<TracepointTypes>();
  return *types_;
}

int Kernel::type_of_function(const char* name) const {
  try {
    return types().function_id(name);
  } catch (const Error&) {
    return -ENOENT;
  }
}

Support Kernel::btf_tracepoint(std::string_view name) const {
  return answer("btf_tracepoints", fmt::format("btf_tracepoint {}", name), [&, this]() -> Support {
    if (Support base = btf(); !base.yes) return base;
    if (btf_has_string(fmt::format("btf_trace_{}", name))) return {};
    return Support::no(
        fmt::format("no tracepoint {} in the kernel's types", printable(name)),
        "boot a kernel that has it (for sys_enter: CONFIG_HAVE_SYSCALL_TRACEPOINTS and "
        "CONFIG_TRACEPOINTS), or load its module");
  });
}

// The frames are found from a register of the thread, which only x86-64 keeps there.
Support Kernel::python_frames() const {
  return answer("python", "python", [this]() -> Support {
    if (Support base = btf(); !base.yes) return base;
    if (!btf_has_string("fsbase"))
      return Support::no("the kernel's types have no thread pointer (x86-64 has)",
                         "run Overdue on x86-64");
    if (!capabilities().has(Capability::sys_ptrace))
      return Support::no("no CAP_SYS_PTRACE, without which the memory of programs cannot be read",
                         "run Overdue as root, or with that capability");
    return {};
  });
}

Support Kernel::btf_tracepoints() const {
  const Support enter = btf_tracepoint("sys_enter");
  return enter.yes ? btf_tracepoint("sys_exit") : enter;
}

Support Kernel::btf_function(const char* name) const {
  return answer("btf", fmt::format("btf_function {}", name), [&, this]() -> Support {
    if (Support base = btf(); !base.yes) return base;
    if (type_of_function(name) > 0) return {};
    return Support::no(fmt::format("no function {} in the kernel's types", printable(name)),
                       "boot a newer kernel");
  });
}

Support Kernel::program_type(bpf_prog_type type) const {
  return answer(
      "privileges", fmt::format("program_type {}", static_cast<int>(type)), [&, this]() -> Support {
        if (Support base = privileges(); !base.yes) return base;
        if (libbpf_probe_bpf_prog_type(type, nullptr) == 1) return {};
        const char* const name = libbpf_bpf_prog_type_str(type);
        return Support::no(
            fmt::format("the kernel refuses BPF programs of type {}", name ? name : "unknown"),
            "boot a kernel with CONFIG_BPF_SYSCALL=y, CONFIG_BPF_EVENTS=y and that program type");
      });
}

Support Kernel::map_type(bpf_map_type type, std::string_view since) const {
  return answer(
      "privileges", fmt::format("map_type {}", static_cast<int>(type)), [&, this]() -> Support {
        if (Support base = privileges(); !base.yes) return base;
        if (libbpf_probe_bpf_map_type(type, nullptr) == 1) return {};
        const char* const name = libbpf_bpf_map_type_str(type);
        return Support::no(
            fmt::format("the kernel refuses BPF maps of type {}", name ? name : "unknown"),
            enabled_by(type, since));
      });
}

Support Kernel::task_storage() const {
  return answer("task_storage", "task_storage",
                [this] { return map_type(BPF_MAP_TYPE_TASK_STORAGE, "5.11"); });
}

Support Kernel::ring_buffer() const {
  return answer("ring_buffer", "ring_buffer",
                [this] { return map_type(BPF_MAP_TYPE_RINGBUF, "5.8"); });
}

Support Kernel::single_runs() const {
  return answer("single_runs", "single_runs",
                [this] { return program_type(BPF_PROG_TYPE_SYSCALL); });
}

Support Kernel::task_work() const {
  return answer("task_work", "task_work", [this]() -> Support {
    for (const char* name : {"bpf_task_work_schedule_resume_impl", "bpf_task_work_schedule_resume"})
      if (btf_function(name).yes) return {};
    return Support::no("no task work for BPF programs", "boot Linux 6.18 or newer");
  });
}

Support Kernel::interrupt_vectors() const {
  return answer("interrupt_vectors", "interrupt_vectors",
                [this] { return btf_tracepoint("local_timer_entry"); });
}

bool Kernel::marks_throttled() const {
  return types().member_offset("task_struct", "throttled").has_value();
}

Support Kernel::throttles() const {
  return answer("throttles", "throttles", [this]() -> Support {
    if (Support base = btf(); !base.yes) return base;
    if (marks_throttled()) return {};
    for (const char* function : {"tg_throttle_down", "tg_unthrottle_up"})
      if (Support support = btf_function(function); !support.yes) return support;
    return kprobe();
  });
}

Support Kernel::session(std::initializer_list<std::string_view> tracepoints) const {
  for (const auto ask : {&Kernel::privileges, &Kernel::btf, &Kernel::task_storage,
                         &Kernel::ring_buffer, &Kernel::task_iterator, &Kernel::membarrier})
    if (Support support = (this->*ask)(); !support.yes) return support;
  for (const std::string_view name : tracepoints)
    if (Support support = btf_tracepoint(name); !support.yes) return support;
  return {};
}

Support Kernel::task_iterator() const {
  return answer("task_iterator", "task_iterator", [this]() -> Support {
    if (Support base = btf(); !base.yes) return base;
    if (Support base = privileges(); !base.yes) return base;
    const int function = type_of_function(task_iterator_function);
    const Fd program =
        function > 0 ? load_for(BPF_PROG_TYPE_TRACING, BPF_TRACE_ITER, function) : Fd();
    if (program && Fd(bpf_link_create(program.get(), 0, BPF_TRACE_ITER, nullptr))) return {};
    return Support::no(fmt::format("no iterator over threads ({})", errno_text(errno)),
                       "boot a kernel with CONFIG_BPF_SYSCALL=y and BPF iterators");
  });
}

Support Kernel::fentry() const {
  return answer("fentry", "fentry", [this]() -> Support {
    if (Support base = btf(); !base.yes) return base;
    if (Support base = privileges(); !base.yes) return base;
    const int function = type_of_function(harmless_function);
    if (function <= 0)
      return Support::no("no kernel function to try it on",
                         "boot a kernel with CONFIG_NET=y and BTF");
    const Fd program = load_for(BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, function);
    if (!program)
      return Support::no(fmt::format("refused at load: {}", errno_text(errno)),
                         std::string(by_lockdown));
    // On architectures without trampolines, loading succeeds and attaching fails.
    if (Fd(bpf_raw_tracepoint_open(nullptr, program.get()))) return {};
    return Support::no(fmt::format("refused at attach: {}", errno_text(errno)),
                       std::string(by_lockdown));
  });
}

Support Kernel::lsm() const {
  return answer("lsm", "lsm", [this]() -> Support {
    if (Support base = btf(); !base.yes) return base;
    if (Support base = privileges(); !base.yes) return base;
    const int function = type_of_function(harmless_hook);
    if (function <= 0)
      return Support::no("the kernel has no BPF security module",
                         "boot a kernel with CONFIG_BPF_LSM=y");
    if (!load_for(BPF_PROG_TYPE_LSM, BPF_LSM_MAC, function))
      return Support::no(fmt::format("refused at load: {}", errno_text(errno)),
                         std::string(by_lockdown));
    std::optional<bool> active;
    if (auto list = security_file("lsm")) {
      std::replace(list->begin(), list->end(), ',', ' ');
      active = has_word(*list, "bpf");
    } else {
      active = bpf_module_is_active();
    }
    if (active.value_or(true)) return {};
    return Support::no("bpf is not among the active security modules", "boot with lsm=…,bpf");
  });
}

Support Kernel::kprobe() const {
  return answer("kprobe", "kprobe", [this]() -> Support {
    const auto type = event_type(sys_, "kprobe");
    if (!type)
      return Support::no("kprobes are not built in", "boot a kernel with CONFIG_KPROBE_EVENTS=y");
    if (Support base = privileges(); !base.yes) return base;
    perf_event_attr attributes{};
    attributes.type = *type;
    attributes.disabled = 1;
    attributes.kprobe_func = reinterpret_cast<std::uint64_t>(harmless_function);
    if (open_event(attributes, -1, first_cpu(sys_))) return {};
    if (errno != EPERM && errno != EACCES)
      return {};  // kprobes work; only this function is missing
    return Support::no(fmt::format("kprobes are refused: {}", errno_text(errno)),
                       "run as root, on a kernel that is not locked down");
  });
}

Support Kernel::uprobe() const {
  return answer("uprobe", "uprobe", [this]() -> Support {
    if (!event_type(sys_, "uprobe"))
      return Support::no("uprobes are not built in", "boot a kernel with CONFIG_UPROBE_EVENTS=y");
    if (Support rights = privileges(); !rights.yes) return rights;
    if (capabilities().has(Capability::sys_admin)) return {};
    return Support::no("no CAP_SYS_ADMIN, without which Linux attaches nothing to programs",
                       "run it as root");
  });
}

Support Kernel::cpu_clock() const {
  return answer("cpu_clock", "cpu_clock", [this]() -> Support {
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
    attributes.disabled = 1;
    attributes.sample_period = 1'000'000'000;
    if (open_event(attributes, -1, first_cpu(sys_))) return {};
    const bool refused = errno == EPERM || errno == EACCES;
    return Support::no(
        fmt::format("a system-wide cpu-clock event is refused: {}", errno_text(errno)),
        refused ? "run as root or with CAP_PERFMON, and let seccomp pass perf_event_open"
                : "boot a kernel with CONFIG_PERF_EVENTS=y");
  });
}

Support Kernel::hardware_pmu() const {
  return answer("hardware_pmu", "hardware_pmu", []() -> Support {
    constexpr const char* remedy =
        "run on hardware, or let the hypervisor pass a virtual PMU to this machine";
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.config = PERF_COUNT_HW_CPU_CYCLES;
    attributes.sample_period =
        1'000'000'000;  // sampling has to work: counting alone is not sufficient
    attributes.exclude_kernel = 1;
    const Fd event = open_event(attributes, 0, -1);
    if (!event && (errno == EPERM || errno == EACCES))
      return Support::no("hardware events are refused", "run as root or with CAP_PERFMON");
    if (!event)
      return Support::no(fmt::format("no hardware performance counters ({})", errno_text(errno)),
                         remedy);
    // Some hypervisors provide a PMU whose counters do not count.
    for (volatile int i = 0; i < 100'000;) i = i + 1;
    std::uint64_t cycles = 0;
    if (::read(event.get(), &cycles, sizeof cycles) == sizeof cycles && cycles > 0) return {};
    return Support::no("the hardware performance counters do not count", remedy);
  });
}

Support Kernel::bpf_stats() const {
  return answer("bpf_stats", "bpf_stats", []() -> Support {
    if (Fd(bpf_enable_stats(BPF_STATS_RUN_TIME))) return {};
    return Support::no(
        fmt::format("the kernel does not account for BPF run time here: {}", errno_text(errno)),
        "run as root (CAP_SYS_ADMIN); Overdue times its programs itself");
  });
}

std::optional<unsigned> Kernel::attached_tracing_programs() const {
  unsigned count = 0;
  __u32 id = 0;
  while (bpf_link_get_next_id(id, &id) == 0) {
    const Fd link(bpf_link_get_fd_by_id(id));
    if (!link && errno == ENOENT) continue;  // destroyed since it was listed
    bpf_link_info info{};
    __u32 size = sizeof info;
    if (!link || bpf_obj_get_info_by_fd(link.get(), &info, &size) != 0) return std::nullopt;
    count += info.type == BPF_LINK_TYPE_RAW_TRACEPOINT || info.type == BPF_LINK_TYPE_TRACING ||
             info.type == BPF_LINK_TYPE_PERF_EVENT || info.type == BPF_LINK_TYPE_KPROBE_MULTI;
  }
  if (errno != ENOENT) return std::nullopt;
  return count;
}

}  // namespace overdue
