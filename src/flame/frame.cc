#include "flame/frame.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/time.h"

namespace overdue {

std::string_view frame_kind_name(FrameKind kind) {
  switch (kind) {
    case FrameKind::thread:
      return "thread";
    case FrameKind::user:
      return "user";
    case FrameKind::syscall:
      return "system call";
    case FrameKind::kernel:
      return "kernel";
    case FrameKind::unknown:
      return "unknown";
    case FrameKind::waiting:
      return "waiting";
  }
  return "unknown";
}

std::string format_counted(std::uint64_t count, std::string_view noun) {
  std::string digits = fmt::format("{}", count);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return fmt::format("{} {}{}", digits, noun, count == 1 ? "" : "s");
}

std::string format_weight(std::uint64_t weight, WeightUnit unit) {
  switch (unit) {
    case WeightUnit::samples:
      return format_counted(weight, "sample");
    case WeightUnit::microseconds: {
      constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max() / 1000;
      return format_duration(Duration(std::min(weight, most) * 1000));
    }
    case WeightUnit::bytes:
      break;
  }
  if (weight < 1024) return fmt::format("{} B", weight);
  static constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(weight) / 1024;
  std::size_t power = 0;
  for (; value >= 1023.5 && power + 1 < std::size(units); ++power) value /= 1024;
  return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : value < 100 ? 1 : 0, units[power]);
}

std::string format_share(std::uint64_t part, std::uint64_t whole) {
  const double share =
      whole == 0 ? 0 : 100 * (static_cast<double>(part) / static_cast<double>(whole));
  return fmt::format("{:.{}f}%", share, share < 1 ? 2 : 1);
}

}  // namespace overdue
