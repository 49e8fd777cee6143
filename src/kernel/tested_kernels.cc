#include "kernel/tested_kernels.h"

#include <algorithm>
#include <array>

namespace overdue {
namespace {

// tests/vm/kernels.py boots all except 6.18, on which the tests run outside of any guest.
constexpr std::array<std::string_view, 4> tested{"6.1", "6.12", "6.18", "7.2"};
constexpr std::array<std::string_view, 1> tested_with_rt{"6.1"};

/// "6.12" of "6.12.41+deb13-amd64".
std::string_view series_of(std::string_view release) {
  const std::size_t first = release.find('.');
  if (first == release.npos) return release;
  return release.substr(0, release.find_first_not_of("0123456789", first + 1));
}

std::string listed(const auto& series) {
  std::string text;
  for (const std::string_view one : series) text += (text.empty() ? "" : ", ") + std::string(one);
  return text;
}

}  // namespace

bool is_tested_kernel(std::string_view release, bool preempt_rt) {
  const auto has = [&](const auto& list) {
    return std::find(list.begin(), list.end(), series_of(release)) != list.end();
  };
  return preempt_rt ? has(tested_with_rt) : has(tested);
}

std::string tested_kernels_text() {
  return listed(tested) + "; with PREEMPT_RT " + listed(tested_with_rt);
}

}  // namespace overdue
