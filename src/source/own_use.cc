#include "source/own_use.h"

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/read_text.h"

namespace overdue {
namespace {

/// The word after `name` at the start of a line; empty if there is no such line.
std::string_view field_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.starts_with(name)) continue;
    const std::size_t begin = line.find_first_not_of(" \t", name.size());
    if (begin == std::string_view::npos) return {};
    return line.substr(begin, line.find_first_of(" \t", begin) - begin);
  }
  return {};
}

std::optional<std::uint64_t> number_in(std::string_view word) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end == word.data()) return std::nullopt;
  return number;
}

std::uint64_t cpu_ns_of(int who) {
  rusage used{};
  getrusage(who, &used);
  const auto ns = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_usec) * 1'000;
  };
  return ns(used.ru_utime) + ns(used.ru_stime);
}

/// CPU time of a running process with one thread (Overdue's children have one), and of its children
/// that have ended.
std::uint64_t cpu_ns_of_process(const std::string& directory) {
  const std::string scheduled = read_text(directory + "/schedstat").value_or("");
  std::uint64_t ns = number_in(scheduled).value_or(0);
  // After the name, which may contain any bytes: field 3 is the state, 16 and 17 cutime and cstime.
  const std::string stat = read_text(directory + "/stat").value_or("");
  std::string_view rest(stat);
  rest.remove_prefix(std::min(rest.rfind(')') + 1, rest.size()));
  const auto tick_ns = std::uint64_t{1'000'000'000} / static_cast<unsigned>(sysconf(_SC_CLK_TCK));
  for (int field = 2; !rest.empty(); ++field) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    if (field == 16 || field == 17) ns += number_in(word).value_or(0) * tick_ns;
  }
  return ns;
}

/// Pids of the children, by any thread, of the process with this folder in /proc.
std::vector<std::string> children_of(const std::string& directory) {
  std::vector<std::string> children;
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator(directory + "/task", gone)) {
    const std::string text = read_text(thread.path() / "children").value_or("");
    std::string_view rest(text);
    while (!rest.empty()) {
      const std::string_view pid = rest.substr(0, rest.find_first_of(" \n"));
      rest.remove_prefix(std::min(pid.size() + 1, rest.size()));
      if (!pid.empty()) children.emplace_back(pid);
    }
  }
  return children;
}

std::uint64_t memory_of_process(const std::string& directory) {
  const std::string status = read_text(directory + "/status").value_or("");
  return number_in(field_of(status, "VmHWM:")).value_or(0) * 1024;
}

void add_children(OwnUse& use, const std::string& directory, const SpawnedProgram* program) {
  for (const std::string& pid : children_of(directory)) {
    if (program && number_in(pid) == program->pid()) continue;
    const std::string child = "/proc/" + pid;
    use.cpu_ns = use.cpu_ns.value_or(0) + cpu_ns_of_process(child);
    use.memory_bytes = use.memory_bytes.value_or(0) + memory_of_process(child);
    add_children(use, child, program);
  }
}

/// Memory of Overdue's BPF objects; nothing if there are none, or the kernel does not report it.
std::optional<std::uint64_t> bpf_bytes() {
  std::set<std::string> seen;
  std::uint64_t sum = 0;
  std::error_code refused;
  for (const auto& one : std::filesystem::directory_iterator("/proc/self/fdinfo", refused)) {
    const BpfMemory memory = parse_bpf_memory(read_text(one.path()).value_or(""));
    if (!memory.object.empty() && seen.insert(memory.object).second) sum += memory.bytes;
  }
  if (sum == 0) return std::nullopt;
  return sum;
}

}  // namespace

BpfMemory parse_bpf_memory(std::string_view fdinfo) {
  const std::string_view bytes = field_of(fdinfo, "memlock:");
  for (const std::string_view kind : {"map_id:", "prog_id:"})
    if (const std::string_view id = field_of(fdinfo, kind); !id.empty())
      return {fmt::format("{}{}", kind, id), number_in(bytes).value_or(0)};
  return {};
}

std::uint64_t mapped_bpf_bytes(std::string_view smaps) {
  std::uint64_t bytes = 0;
  bool is_map = false;
  while (!smaps.empty()) {
    const std::string_view line = smaps.substr(0, smaps.find('\n'));
    smaps.remove_prefix(std::min(line.size() + 1, smaps.size()));
    // A mapping begins with its addresses: "7f25aa000000-7f25ac000000 r--s 00001000 …".
    const std::size_t colon = line.find(':'), space = line.find(' ');
    if (space < colon) is_map = line.ends_with("bpf-map");
    if (is_map && line.starts_with("Rss:"))
      bytes += number_in(line.substr(std::min(line.size(), line.find_first_of("0123456789"))))
                   .value_or(0) *
               1024;
  }
  return bytes;
}

OwnUse own_use(const SpawnedProgram* program) {
  OwnUse use;
  const std::uint64_t ended_ns = cpu_ns_of(RUSAGE_CHILDREN);
  const std::uint64_t program_ns = program ? program->cpu_used().count() : 0;
  use.cpu_ns = cpu_ns_of(RUSAGE_SELF) + (ended_ns > program_ns ? ended_ns - program_ns : 0);
  const std::uint64_t mapped = mapped_bpf_bytes(read_text("/proc/self/smaps").value_or(""));
  const std::uint64_t memory = memory_of_process("/proc/self");
  use.memory_bytes = memory - std::min(memory, mapped);
  add_children(use, "/proc/self", program);
  if (*use.memory_bytes == 0) use.memory_bytes.reset();
  use.bpf_bytes = bpf_bytes();
  return use;
}

}  // namespace overdue
