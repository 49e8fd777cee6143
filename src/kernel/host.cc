#include "kernel/host.h"

#include <sys/stat.h>
#include <sys/utsname.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <charconv>
#include <cstring>

#include "base/read_text.h"
#include "base/text.h"

namespace overdue {
namespace {

namespace fs = std::filesystem;

/// The hypervisor's name in CPUID; empty without a hypervisor, or on another architecture.
std::string cpuid_signature() {
#if defined(__x86_64__)
  unsigned eax = 0;
  unsigned words[3] = {};
  if (__get_cpuid(1, &eax, &words[0], &words[1], &words[2]) == 0) return {};
  if ((words[1] >> 31 & 1) == 0) return {};
  __cpuid(0x40000000, eax, words[0], words[1], words[2]);
  char text[13] = {};
  std::memcpy(text, words, 12);
  return text[0] == '\0' ? "?" : text;
#else
  return {};
#endif
}

std::string virtualisation(const fs::path& sys) {
  constexpr std::pair<std::string_view, std::string_view> known[] = {
      {"KVMKVMKVM", "kvm"},        {"XenVMMXenVMM", "xen"},  {"VMwareVMware", "vmware"},
      {"Microsoft Hv", "hyper-v"}, {"TCGTCGTCGTCG", "qemu"}, {"VBoxVBoxVBox", "virtualbox"},
      {"bhyve bhyve ", "bhyve"},   {"ACRNACRNACRN", "acrn"},
  };
  if (const std::string type = read_word(sys / "hypervisor/type"); !type.empty())
    return printable(type);
  const std::string signature = cpuid_signature();
  for (const auto& [text, name] : known)
    if (signature == text) return std::string(name);
  if (!signature.empty()) return "unknown hypervisor";
  const std::string vendor = read_word(sys / "class/dmi/id/sys_vendor");
  if (vendor == "QEMU" || vendor == "Amazon EC2") return vendor == "QEMU" ? "qemu" : "amazon";
  return "none";
}

std::string container_kind() {
  std::error_code ignored;
  if (const std::string kind = read_word("/run/systemd/container"); !kind.empty())
    return printable(kind);
  if (fs::exists("/.dockerenv", ignored)) return "docker";
  if (fs::exists("/run/.containerenv", ignored)) return "podman";
  return {};
}

WallTime read_wall_clock() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return WallTime(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

}  // namespace

std::uint32_t count_cpus(std::string_view list) {
  std::uint32_t count = 0;
  for (const std::string_view part : split(list, ',')) {
    const char* const begin = part.data();
    const char* const end = begin + part.size();
    std::uint32_t first = 0;
    const auto [dash, error] = std::from_chars(begin, end, first);
    if (error != std::errc()) return 0;
    std::uint32_t last = first;
    if (dash != end && (*dash != '-' || std::from_chars(dash + 1, end, last).ec != std::errc()))
      return 0;
    if (last < first) return 0;
    count += last - first + 1;
  }
  return count;
}

Duration tick_period(const fs::path& sys) {
  const std::string without = read_word(sys / "devices/system/cpu/nohz_full");
  if (!without.empty() && without != "(null)") return Duration(0);
  timespec period{};
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &period) != 0) return Duration(0);
  return std::chrono::seconds(period.tv_sec) + Duration(period.tv_nsec);
}

bool in_initial_pid_namespace() {
  constexpr ino_t initial =
      0xEFFFFFFC;  // PROC_PID_INIT_INO of the kernel's include/linux/proc_ns.h
  struct stat space{};
  return ::stat("/proc/self/ns/pid", &space) != 0 || space.st_ino == initial;
}

Host read_host(const fs::path& proc, const fs::path& sys) {
  Host host;
  utsname names{};
  if (uname(&names) == 0) {
    host.name = names.nodename;
    host.kernel = names.release;
    host.build = names.version;
    host.arch = names.machine;
  }
  host.boot_id = read_word(proc / "sys/kernel/random/boot_id");
  host.virtualisation = virtualisation(sys);
  host.container = container_kind();
  host.online_cpus = count_cpus(read_word(sys / "devices/system/cpu/online"));
  host.possible_cpus = count_cpus(read_word(sys / "devices/system/cpu/possible"));
  return host;
}

ClockPair read_clocks() {
  ClockPair best;
  for (int round = 0; round < 5; ++round) {
    const auto before = KernelClock::now();
    const auto wall = read_wall_clock();
    const auto after = KernelClock::now();
    const Duration width = after - before;
    if (round == 0 || width < best.uncertainty) best = {wall, before + width / 2, width};
  }
  return best;
}

}  // namespace overdue
