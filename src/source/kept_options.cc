#include "source/kept_options.h"

#include <charconv>
#include <numeric>

#include "base/error.h"
#include "target/cpu_list.h"

namespace overdue {
namespace {

constexpr std::size_t max_cpus = 4096;

}  // namespace

std::uint64_t kept_number(const KeptOptions& options, std::string_view name,
                          std::uint64_t otherwise, std::uint64_t most) {
  const auto found = options.find(std::string(name));
  if (found == options.end()) return otherwise;
  const std::string& text = found->second;
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
  return is_whole && number <= most ? number : otherwise;
}

std::vector<std::uint32_t> kept_cpus(const KeptOptions& options, std::string_view name) {
  const auto found = options.find(std::string(name));
  if (found == options.end()) return {};
  std::vector<std::uint32_t> any(max_cpus);
  std::iota(any.begin(), any.end(), 0);
  try {
    return parse_cpu_list(found->second, any);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace overdue
