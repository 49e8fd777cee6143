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

/// The features that the running kernel allows this process to use, each answer with its reason.
/// Nothing is probed before it is needed, and nothing twice. Answers come from probing (loading a
/// program, opening an event, reading BTF), never from a version number. No function throws for a
/// feature that the kernel lacks or refuses. One thread.
class Kernel {
 public:
  /// Tests set `proc` and `sys` to folders of their own; file systems are then never mounted
  /// privately.
  explicit Kernel(std::filesystem::path proc = "/proc", std::filesystem::path sys = "/sys");
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  /// From now on, the answers for these facilities and all that need them are no (`--without`).
  /// Names are those of facilities(). Throws Error (exit status 2) for an unknown name.
  void pretend_missing(const std::set<std::string>& names);
  /// Whether any facility is pretended missing: the answers then differ from the kernel's.
  bool pretends() const { return !missing_.empty(); }

  Support privileges() const;  ///< CAP_BPF and CAP_PERFMON
  Support btf() const;
  /// A tracepoint with BTF types, such as `sys_enter`. Of the kernel proper or a module.
  Support btf_tracepoint(std::string_view name) const;
  Support btf_tracepoints() const;               ///< sys_enter and sys_exit
  Support btf_function(const char* name) const;  ///< a function of the kernel proper in BTF
  /// BTF of the kernel proper. Throws Error if the kernel has no BTF.
  const TracepointTypes& types() const;
  Support tracefs() const;
  Support tracepoint(std::string_view category, std::string_view name) const;
  Support tracepoints() const;  ///< one per system call

  Support program_type(bpf_prog_type type) const;
  /// `since` is the first kernel release with this type, for the remedy.
  Support map_type(bpf_map_type type, std::string_view since) const;
  Support task_storage() const;
  Support ring_buffer() const;
  Support task_iterator() const;
  Support single_runs() const;        ///< single runs of programs that are not attached
  Support task_work() const;          ///< BPF task work: a function on a thread's way to user space
  Support interrupt_vectors() const;  ///< tracepoints of local interrupts
  Support python_frames() const;      ///< Python functions in user stacks
  Support throttles() const;          ///< waits caused by the CPU quotas of cgroups
  /// Whether the kernel marks each throttled thread. Otherwise throttles() relies on functions that
  /// the kernel calls for each throttled queue.
  bool marks_throttled() const;
  /// The needs of a session of our programs (privileges, BTF, maps, iterators), and these typed
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

  /// The path of tracefs: its mount point, or that of a private mount (a /proc/self/fd path, valid
  /// as long as this object). Empty if there is none.
  std::optional<std::filesystem::path> tracefs_path() const;
  bool tracefs_is_private() const { return static_cast<bool>(private_tracefs_); }

  bool preempt_rt() const;
  std::string lockdown() const;  ///< "none", "integrity", "confidentiality"; "unknown"
  std::optional<int> unprivileged_bpf_disabled() const;
  CgroupLayout cgroup_layout() const;
  const CapabilitySet& capabilities() const;
  /// The number of BPF programs of all processes that are attached to tracepoints or kernel
  /// functions now; empty if the kernel does not list them (CAP_SYS_ADMIN).
  std::optional<unsigned> attached_tracing_programs() const;

 private:
  using Question = std::function<Support()>;
  Support answer(std::string_view facility, std::string key, const Question& question) const;
  int type_of_function(const char* name) const;
  bool btf_has_string(std::string_view text) const;
  const std::string& mounts() const;
  std::optional<std::string> security_file(const char* name) const;
  bool is_covered(const std::filesystem::path& tracefs) const;
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

/// A kernel feature that `overdue doctor` lists and `--without` hides.
struct Facility {
  std::string_view name;     ///< name in `--without`
  std::string_view summary;  ///< purpose
  Support (Kernel::*ask)() const;
};
std::span<const Facility> facilities();

/// If `support` is a no, throws Error "cannot WHAT: …" with the remedy as the hint.
void require_support(std::string_view what, const Support& support);

}  // namespace overdue
