#include "kernel/span_sums.h"

#include <bpf/bpf.h>
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/read_text.h"
#include "bpf/sched.h"
#include "core/span_kinds.h"
#include "core/span_schema.h"
#include "kernel/ended_entries.h"
#include "kernel/libbpf_log.h"

namespace overdue {
namespace {

Fd make_map() {
  return Fd(check(bpf_map_create(BPF_MAP_TYPE_HASH, "span_sums", sizeof(span_sum_key),
                                 sizeof(span_sum), SPAN_SUMS_MAX, nullptr),
                  "cannot create the map of sums of spans"));
}

/// The handlers of an interrupt, as /proc/interrupts names them; empty: not known.
std::string actions_of(u32 irq) {
  std::string text = read_text(fmt::format("/sys/kernel/irq/{}/actions", irq)).value_or("");
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

/// Wake-ups are summed by the number of the interrupt.
void name_waker(span_sum& sum) {
  const auto context = static_cast<u32>(sum.subject >> 32);
  if (sum.span != SPAN_WAKEUP || context != WAKER_IRQ) return;
  const std::string actions = actions_of(static_cast<u32>(sum.subject));
  std::copy_n(actions.data(), std::min(actions.size(), sizeof sum.text - 1), sum.text);
}

}  // namespace

SpanSums::SpanSums(session_control& control, u32 kinds, bool by_thread)
    : control_(control), kinds_(kinds), by_thread_(by_thread), map_(make_map()) {}

void SpanSums::add_to(SharedMaps& maps) const {
  maps.span_sums = map_.get();
  maps.summed_kinds = kinds_;
  maps.sums_by_thread = by_thread_;
}

/// Takes the entries of ended epochs out of the table.
void SpanSums::drain_cells(std::uint32_t epoch, KernelTime now, const RecordHandler& handler) {
  std::vector<span_sum> sums = take_ended<span_sum_key, span_sum>(map_.get(), SPAN_SUMS_MAX, epoch);
  __atomic_fetch_sub(&control_.span_sums_used, static_cast<u32>(sums.size()), __ATOMIC_RELAXED);
  // So that the last record of a thread has its last name.
  std::ranges::sort(sums, {}, [](const span_sum& sum) { return sum.header.time_ns; });
  for (span_sum& sum : sums) {
    sum.header.time_ns = static_cast<u64>(now.time_since_epoch().count());
    name_waker(sum);
    handler(Record{&span_sum_schema, std::as_bytes(std::span(&sum, 1))});
  }
}

double SpanSums::fill(std::uint32_t) const {
  return static_cast<double>(__atomic_load_n(&control_.span_sums_used, __ATOMIC_RELAXED)) /
         SPAN_SUMS_MAX;
}

void fill_identities(std::span<span_identity, SPAN_KINDS_MAX> to) {
  for (const SpanKind* kind : span_kinds()) {
    span_identity& identity = to[kind->number];
    identity.subject_mask = kind->summed_by.subject;
    identity.detail_mask = kind->summed_by.detail;
    identity.has_text = kind->summed_by.text;
    identity.is_of_ender = kind->owner == SpanOwner::thread || kind->owner == SpanOwner::both;
    identity.is_of_beginner = kind->owner == SpanOwner::beginner || kind->owner == SpanOwner::both;
  }
}

}  // namespace overdue
