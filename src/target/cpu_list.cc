#include "target/cpu_list.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/read_text.h"
#include "base/text.h"
#include "target/proc.h"

namespace overdue {
namespace {

struct CpuRange {
  std::uint32_t first;
  std::uint32_t last;
};

std::optional<CpuRange> parse_range(std::string_view part) {
  const std::size_t dash = part.find('-');
  const auto first = parse_u32(part.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_u32(part.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return CpuRange{*first, *last};
}

/// The ranges of a list; nothing if any part of it is malformed or empty.
std::optional<std::vector<CpuRange>> parse_ranges(std::string_view text) {
  if (text.empty() || text.front() == ',' || text.back() == ',' ||
      text.find(",,") != std::string_view::npos)
    return std::nullopt;
  std::vector<CpuRange> ranges;
  for (const std::string_view part : split(text, ',')) {
    const auto range = parse_range(part);
    if (!range) return std::nullopt;
    ranges.push_back(*range);
  }
  return ranges;
}

/// The CPUs listed in a file of `sys`/devices/system/cpu.
std::vector<std::uint32_t> read_cpus(const std::filesystem::path& sys, const char* name) {
  const std::filesystem::path path = sys / "devices/system/cpu" / name;
  const auto text = read_text(path);
  const auto ranges = parse_ranges(
      std::string_view(text.value_or("")).substr(0, text ? text->find('\n') : std::string::npos));
  constexpr std::uint32_t cpu_limit = 1 << 16;
  if (!ranges || std::any_of(ranges->begin(), ranges->end(),
                             [](const CpuRange& range) { return range.last >= cpu_limit; }))
    throw Error("cannot read the CPUs of this machine from {}", printable(path.native()));
  std::vector<std::uint32_t> cpus;
  for (const CpuRange& range : *ranges)
    for (std::uint32_t cpu = range.first; cpu <= range.last; ++cpu) cpus.push_back(cpu);
  return cpus;
}

}  // namespace

std::vector<std::uint32_t> parse_cpu_list(std::string_view text,
                                          std::span<const std::uint32_t> possible) {
  const auto ranges = parse_ranges(text);
  if (!ranges)
    throw Error("'{}' is not a CPU list", printable(text))
        .hint("write single CPUs and ranges, lower number first: --cpu 0-3,5")
        .exit_status(2);
  std::set<std::uint32_t> cpus;
  for (const CpuRange& range : *ranges) {
    // Checked before a range is expanded: 0-4294967295 must not fill the memory.
    const auto begin = std::lower_bound(possible.begin(), possible.end(), range.first);
    const auto end = std::upper_bound(possible.begin(), possible.end(), range.last);
    const auto found = static_cast<std::size_t>(std::distance(begin, end));
    if (found != std::size_t{range.last} - range.first + 1) {
      std::uint32_t absent = range.first;
      for (auto cpu = begin; cpu != end && *cpu == absent; ++cpu) ++absent;
      throw Error("no CPU {}: this machine has CPUs {}", absent, format_cpu_list(possible))
          .exit_status(2);
    }
    cpus.insert(begin, end);
  }
  return {cpus.begin(), cpus.end()};
}

std::vector<std::uint32_t> possible_cpus(const std::filesystem::path& sys) {
  return read_cpus(sys, "possible");
}

std::vector<std::uint32_t> cpus_of_any_machine() {
  std::vector<std::uint32_t> cpus(4096);  // as many as --cpu can name
  std::iota(cpus.begin(), cpus.end(), 0);
  return cpus;
}

std::vector<std::uint32_t> online_cpus(const std::filesystem::path& sys) {
  return read_cpus(sys, "online");
}

std::string format_cpu_list(std::span<const std::uint32_t> cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += last == i ? fmt::format("{}", cpus[i]) : fmt::format("{}-{}", cpus[i], cpus[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace overdue
