#pragma once

#include <bpf/bpf.h>

#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "core/probe.h"
#include "kernel/capabilities.h"
#include "kernel/tracepoint_types.h"

namespace overdue {

/// Which cgroup hierarchies are mounted.
enum class CgroupLayout { none, v1, v2, hybrid };
std::string_view cgroup_layout_name(CgroupLayout layout);

/// What the running kernel allows this process, each answer with its reason. Nothing is asked
/// before it is needed, and nothing twice. Answers come from asking (loading a program, opening an
/// event, looking into BTF), never from a version number. Nothing here throws for what a kernel
/// lacks or refuses. One thread.
class Kernel {
 public:
  /// `proc` and `sys` are where a test keeps its own; file systems are then never mounted
  /// privately.
  explicit Kernel(std::filesystem::path proc = "/proc", std::filesystem::path sys = "/sys");
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  /// Answers no to these from now on (`--without`), and to what needs them. Names are those of
  /// facilities(). Throws Error (exit status 2) for an unknown one.
  void pretend_missing(const std::set<std::string>& names);
  /// Whether there are such: what it says is then not what the kernel would do.
  bool pretends() const { return !missing_.empty(); }

  Support privileges() const;  ///< CAP_BPF and CAP_PERFMON
  Support btf() const;
  /// A tracepoint that programs may read with types: `sys_enter`. Of the kernel proper or a module.
  Support btf_tracepoint(std::string_view name) const;
  Support btf_tracepoints() const;               ///< of sys_enter and sys_exit
  Support btf_function(const char* name) const;  ///< one of the kernel proper that BTF knows
  /// What BTF says of the kernel proper. Throws Error where the kernel has no BTF.
  const TracepointTypes& types() const;
  Support tracefs() const;
  Support tracepoint(std::string_view category, std::string_view name) const;
  Support tracepoints() const;  ///< one per system call

  Support program_type(bpf_prog_type type) const;
  /// `since` is the release of the kernel that brought it, for the remedy.
  Support map_type(bpf_map_type type, std::string_view since) const;
  Support task_storage() const;
  Support ring_buffer() const;
  Support task_iterator() const;
  Support single_runs() const;        ///< programs run once by us, attached to nothing
  Support task_work() const;          ///< functions of ours run when a thread is on its way back
  Support interrupt_vectors() const;  ///< tracepoints of each CPU's own interrupts
  Support throttles() const;          ///< what the CPU quotas of cgroups keep from running
  /// Whether it says so of each thread; else, where throttles() has it, of queues, to functions.
  bool marks_throttled() const;
  /// What a session of our programs needs (privileges, BTF, maps, iterators), with these typed
  /// tracepoints.
  Support session(std::initializer_list<std::string_view> tracepoints = {}) const;

  Support fentry() const;
  Support kprobe() const;
  Support uprobe() const;
  Support lsm() const;
  Support cpu_clock() const;     ///< sampling by timer, system-wide
  Support hardware_pmu() const;  ///< sampling by cycles
  Support tracer(std::string_view name) const;
  Support function_tracer() const;
  Support bpf_stats() const;
  Support membarrier() const;
  Support kernel_addresses() const;
  Support cgroup2() const;

  /// Where tracefs is: mounted, or a mount of our own that nobody else sees (a /proc/self/fd path,
  /// valid as long as this object). Nothing where there is none.
  std::optional<std::filesystem::path> tracefs_path() const;
  bool tracefs_is_private() const { return static_cast<bool>(private_tracefs_); }

  bool preempt_rt() const;
  std::string lockdown() const;  ///< "none", "integrity", "confidentiality"; "unknown"
  std::optional<int> unprivileged_bpf_disabled() const;
  CgroupLayout cgroup_layout() const;
  const CapabilitySet& capabilities() const;
  /// BPF programs that are attached to tracepoints or kernel functions now, by anybody; nothing
  /// where the kernel does not tell (CAP_SYS_ADMIN).
  std::optional<unsigned> attached_tracing_programs() const;

 private:
  using Question = std::function<Support()>;
  Support answer(std::string_view facility, std::string key, const Question& question) const;
  int type_of_function(const char* name) const;
  bool btf_has_string(std::string_view text) const;
  const std::string& mounts() const;
  std::optional<std::string> security_file(const char* name) const;
  bool real() const { return proc_ == "/proc" && sys_ == "/sys"; }

  std::filesystem::path proc_;
  std::filesystem::path sys_;
  std::set<std::string, std::less<>> missing_;
  mutable std::map<std::string, Support, std::less<>> answers_;
  mutable std::unique_ptr<TracepointTypes> types_;
  mutable std::optional<std::string> btf_strings_;
  mutable std::optional<std::string> mounts_;
  mutable std::optional<CapabilitySet> capabilities_;
  mutable std::optional<std::optional<std::filesystem::path>> tracefs_;
  mutable Fd private_tracefs_;
};

/// Something `overdue doctor` lists and `--without` hides.
struct Facility {
  std::string_view name;     ///< as `--without` spells it
  std::string_view summary;  ///< what it is for
  Support (Kernel::*ask)() const;
};
std::span<const Facility> facilities();

/// Throws Error "cannot WHAT: …" with what would change it, where `support` is a no.
void require_support(std::string_view what, const Support& support);

}  // namespace overdue
