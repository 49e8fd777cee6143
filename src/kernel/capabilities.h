#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace overdue {

/// The capabilities of <linux/capability.h> that parts of Overdue need.
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

/// The capabilities of a process.
class CapabilitySet {
 public:
  explicit CapabilitySet(std::uint64_t bits, bool initial_namespace = true)
      : bits_(initial_namespace ? bits : 0), initial_namespace_(initial_namespace) {}

  /// True also with CAP_SYS_ADMIN if the kernel accepts it instead (CAP_BPF, CAP_PERFMON,
  /// CAP_SYSLOG).
  bool has(Capability capability) const;
  /// False inside a user namespace, whose capabilities have no effect on BPF and perf; the set is
  /// then empty.
  bool initial_namespace() const { return initial_namespace_; }

 private:
  std::uint64_t bits_;
  bool initial_namespace_;
};

/// The permitted set of the calling thread, from `proc`/thread-self/status. Throws Error if the
/// file cannot be read.
CapabilitySet own_capabilities(const std::filesystem::path& proc = "/proc");

/// The capabilities that every measuring command needs: CAP_BPF and CAP_PERFMON. Tested on Linux
/// 6.18 with setpriv(1): with these two alone, task storage, ring buffers, `tp_btf` programs, task
/// iterators, single runs of a program, programs at tracepoints of single calls (`--two-phase`) and
/// a system-wide cpu-clock work; with only one of the two, nothing loads. Reading tracefs
/// (`--two-phase`) also needs CAP_DAC_READ_SEARCH, threads of other users CAP_SYS_PTRACE, kernel
/// addresses CAP_SYSLOG, the kernel's BPF statistics CAP_SYS_ADMIN.
std::span<const Capability> measuring_capabilities();

/// Returns if this process has all of `needed`. Otherwise throws Error (exit status 1): the message
/// names the capabilities that `overdue COMMAND` lacks, the hint says how to get them.
void require_capabilities(std::string_view command, std::span<const Capability> needed,
                          const CapabilitySet& have = own_capabilities());

/// How to get them: sudo, or setcap with all useful capabilities, for one group only, since every
/// user of such a program can inspect all processes.
std::string how_to_get_capabilities(std::string_view command);

}  // namespace overdue
