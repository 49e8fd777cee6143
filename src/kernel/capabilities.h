#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace overdue {

/// The rights of <linux/capability.h> that something in Overdue can need.
enum class Capability : unsigned {
  dac_read_search = 2,
  sys_ptrace = 19,
  sys_admin = 21,
  syslog = 34,
  perfmon = 38,
  bpf = 39,
};

/// As capabilities(7) spells it: `CAP_BPF`.
std::string_view capability_name(Capability capability);

/// What a process may do.
class CapabilitySet {
 public:
  explicit CapabilitySet(std::uint64_t bits, bool initial_namespace = true)
      : bits_(initial_namespace ? bits : 0), initial_namespace_(initial_namespace) {}

  /// True also where the kernel accepts CAP_SYS_ADMIN instead (CAP_BPF, CAP_PERFMON, CAP_SYSLOG).
  bool has(Capability capability) const;
  /// False inside a user namespace: its capabilities say nothing to BPF and perf, so the set is
  /// empty.
  bool initial_namespace() const { return initial_namespace_; }

 private:
  std::uint64_t bits_;
  bool initial_namespace_;
};

/// What the calling thread may put in force (its permitted set), from `proc`/thread-self/status.
/// Throws Error where that cannot be read.
CapabilitySet own_capabilities(const std::filesystem::path& proc = "/proc");

/// What every measuring command needs: CAP_BPF and CAP_PERFMON. Tested on Linux 6.18 with
/// setpriv(1): with these two alone task storage, ring buffers, `tp_btf` programs, task iterators,
/// single runs of a program, programs at the calls' own tracepoints (`--two-phase`) and a
/// system-wide cpu-clock work; with either alone nothing loads. Further: reading tracefs
/// (`--two-phase`) needs CAP_DAC_READ_SEARCH, threads of other users CAP_SYS_PTRACE, kernel
/// addresses CAP_SYSLOG, the kernel's BPF statistics CAP_SYS_ADMIN.
std::span<const Capability> measuring_capabilities();

/// Returns when this process has all of `needed`; otherwise throws Error (exit status 1) with one
/// sentence that says which are missing for `overdue COMMAND`, and how to give them as the hint.
void require_capabilities(std::string_view command, std::span<const Capability> needed,
                          const CapabilitySet& have = own_capabilities());

/// How to give them: sudo, or setcap with everything useful, for one group: whoever may run such a
/// program may look into every process.
std::string how_to_get_capabilities(std::string_view command);

}  // namespace overdue
