#include "live/why_probe_set.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "sinks/text_format.h"

namespace overdue {
namespace {

constexpr Duration between_counts = std::chrono::milliseconds(100);
/// Records of late operations and of the waits that explain them: more cost the target too much.
constexpr std::uint64_t records_per_count = 500;
constexpr Duration highest_threshold = std::chrono::milliseconds(100);

}  // namespace

void WhyProbeSet::add_to(Session& session, const Kernel& kernel,
                         const std::vector<std::uint32_t>& cpus) {
  StallProbeSet::add_to(session, kernel, cpus);
  session.add(std::make_unique<ProfileProbe>(
      ProfileOptions{.user_stack_bytes = options().user_stack_bytes, .cpus = cpus},
      session.membership().maps()));
}

std::uint64_t WhyProbeSet::events_in(const Record& record) const {
  const std::uint16_t kind = record.schema->id;
  if (kind == RECORD_SPAN || kind == RECORD_SCHED_WAIT || kind == RECORD_SCHED_WAKE) ++records_;
  return StallProbeSet::events_in(record);
}

KernelTime WhyProbeSet::due() const {
  return std::min(StallProbeSet::due(), next_count_);
}

std::vector<std::string> WhyProbeSet::notes() const {
  std::vector<std::string> notes = StallProbeSet::notes();
  notes.push_back(fmt::format(
      "operations of {} and longer were examined one by one; sums have all",
      duration_text(static_cast<std::uint64_t>(options().thresholds.general->count()))));
  return notes;
}

/// First fewer short waits within late operations, then fewer late operations.
void WhyProbeSet::record_less() {
  Thresholds thresholds = options().thresholds;
  if (wait_part() > 1)
    set_wait_part(wait_part() / 2);
  else if (*thresholds.general < highest_threshold)
    *thresholds.general *= 2;
  use(std::move(thresholds));
}

void WhyProbeSet::poll(KernelTime now, const RecordHandler& handler) {
  StallProbeSet::poll(now, handler);
  if (now < next_count_) return;
  if (records_ > records_per_count) record_less();
  records_ = 0;
  next_count_ = now + between_counts;
}

}  // namespace overdue
