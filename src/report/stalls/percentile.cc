#include "report/stalls/percentile.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "core/histogram.h"

namespace overdue {
namespace {

constexpr double lowest = 50, highest = 99.99;
constexpr std::uint64_t fewest_operations = 100;
/// A bucket is late as a whole or not at all: up to this factor more is late than asked for.
constexpr double excess = 3;
/// Of fewer operations it is not known whether they are idle: they are looked at first.
constexpr std::uint64_t examined_min = 16;
/// From this number on, older operations count less: what a thread waits for may change.
constexpr std::uint64_t examined_max = 1024;

}  // namespace

std::uint64_t Percentile::least_operations() const {
  constexpr std::uint32_t whole = 1'000'000;
  return std::max(fewest_operations, std::uint64_t{whole / (whole - std::min(ppm, whole - 1))});
}

std::string to_text(Percentile percentile) {
  std::string text = fmt::format("p{}.{:04}", percentile.ppm / 10'000, percentile.ppm % 10'000);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::optional<Percentile> parse_percentile(std::string_view value) {
  if (!value.starts_with('p')) return std::nullopt;
  const std::string_view digits = value.substr(1);
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number,
                                            std::chars_format::fixed);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(number) ||
      number < lowest || number > highest)
    throw Error("bad percentile '{}' for -T: p50 to p99.99 are possible", printable(value))
        .hint("-T p99, or -T read=p99.9")
        .exit_status(2);
  return Percentile{static_cast<std::uint32_t>(std::lround(number * 10'000))};
}

void PercentileThreshold::examined(std::uint64_t latency_ns, bool is_idle) {
  Examined& octave = examined_[histogram_bucket(latency_ns) / HISTOGRAM_SUB_BUCKETS];
  ++octave.all;
  if (is_idle) ++octave.idle;
  if (octave.all < examined_max) return;
  octave.all /= 2;
  octave.idle /= 2;
}

double PercentileThreshold::counting_share(std::size_t bucket) const {
  const Examined& octave = examined_[bucket / HISTOGRAM_SUB_BUCKETS];
  if (octave.all == 0) return 1;
  return 1 - static_cast<double>(octave.idle) / static_cast<double>(octave.all);
}

void PercentileThreshold::count(std::span<const std::uint64_t, HISTOGRAM_BUCKETS> counted) {
  double operations = 0, all = 0;
  for (std::size_t bucket = 0; bucket < HISTOGRAM_BUCKETS; ++bucket) {
    const auto count = static_cast<double>(counted[bucket]);
    all += count;
    operations += count * counting_share(bucket);
  }
  operations_ = static_cast<std::uint64_t>(std::llround(operations));
  idle_ = static_cast<std::uint64_t>(std::llround(all)) - operations_;
}

void PercentileThreshold::choose(std::span<const std::uint64_t, HISTOGRAM_BUCKETS> counted,
                                 double late_share) {
  count(counted);
  const bool all_idle = operations_ < asked_.least_operations();
  const std::uint64_t counting = all_idle ? operations_ + idle_ : operations_;
  if (counting < asked_.least_operations()) return;
  // The factor undoes representation error: a hundredth of 3,000 must not exceed 30.
  const double wanted = static_cast<double>(counting) * late_share * (1 - 1e-9);
  double late = 0;
  for (std::uint32_t bucket = HISTOGRAM_BUCKETS; bucket-- > 0;) {
    late += static_cast<double>(counted[bucket]) * (all_idle ? 1 : counting_share(bucket));
    if (late < wanted) continue;
    const bool is_known = examined_[bucket / HISTOGRAM_SUB_BUCKETS].all >= examined_min;
    const std::uint64_t ns = is_known && late > excess * wanted ? Histogram::bucket_high_ns(bucket)
                                                                : Histogram::bucket_low_ns(bucket);
    constexpr auto most = static_cast<std::uint64_t>(Duration::max().count());
    threshold_ = Duration(std::clamp<std::uint64_t>(ns, 1, most));
    return;
  }
}

}  // namespace overdue
