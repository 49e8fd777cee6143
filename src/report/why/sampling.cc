#include "report/why/sampling.h"

#include <algorithm>
#include <bit>

#include "base/text.h"
#include "core/span_kinds.h"
#include "syscalls/names.h"

namespace overdue {
namespace {

constexpr std::uint64_t explained_per_second = 30, credit_max = 100;
constexpr std::uint64_t ns_per_second = 1'000'000'000;
constexpr std::uint64_t explained_at_first = 20;  // of each class of the first part
constexpr std::uint64_t explained_later = 10;     // of each class of another part
constexpr std::uint64_t first_part_ns = 250'000'000;
constexpr std::uint64_t explained_in_interval = 5;  // of each class, at least
constexpr std::size_t classes_max = 5'000, longest_max = 50'000;

}  // namespace

int WhySampling::part_of_session(std::uint64_t time_ns) const {
  const std::uint64_t age_ns = time_ns - std::min(begin_ns_, time_ns);
  return static_cast<int>(std::bit_width(age_ns / first_part_ns));
}

WhySampling::Class WhySampling::class_of_span(const span_record& span, const Names& names) const {
  const span_kind kind = known_span_kind(span.span);
  return {span_name(kind),
          kind == SPAN_SYSCALL
              ? syscall_name(ABI_NATIVE, static_cast<std::uint32_t>(span.subject), names)
              : "",
          without_numbers(fixed_text(span.header.comm)), part_of_session(span.header.time_ns),
          false};
}

WhySampling::Class WhySampling::class_of(const Finding& finding) const {
  const std::pair key(static_cast<std::uint64_t>(finding.time.time_since_epoch().count()),
                      finding.thread.tid);
  return {finding.span, finding.span == span_name(SPAN_SYSCALL) ? finding.name : "",
          without_numbers(finding.thread.comm), part_of_session(key.first), longest_.contains(key)};
}

bool WhySampling::wants(const span_record& span, const Names& names) {
  if (begin_ns_ == 0) begin_ns_ = span.header.time_ns;
  if (wants(class_of_span(span, names), span.header, span.latency_ns, 1.25)) return true;
  ++left_out_;
  return false;
}

bool WhySampling::wants_stacks(const span_record& span) {
  if (begin_ns_ == 0) begin_ns_ = span.header.time_ns;
  return wants({"runnable", "", without_numbers(fixed_text(span.header.comm)),
                part_of_session(span.header.time_ns), false},
               span.header, span.latency_ns, 1);
}

bool WhySampling::wants(Class of, const event_header& header, std::uint64_t latency_ns,
                        double longer) {
  if (classes_.size() >= classes_max && !classes_.contains(of)) return true;
  const std::uint64_t at_least = std::get<int>(of) == 0 ? explained_at_first : explained_later;
  Count& count = classes_[std::move(of)];
  const std::uint64_t now_ns = header.time_ns;
  const std::uint64_t since_ns = now_ns > credited_ns_ ? now_ns - credited_ns_ : 0;
  if (const std::uint64_t more = since_ns * explained_per_second / ns_per_second; more > 0) {
    credit_ = std::min(credit_max, credit_ + more);
    credited_ns_ = now_ns;
  }
  if (static_cast<double>(latency_ns) > static_cast<double>(count.longest_ns) * longer) {
    count.longest_ns = latency_ns;
    if (longest_.size() < longest_max) longest_.emplace(now_ns, header.tid);
    return true;
  }
  for (Sums* sums : {&count.session, &count.interval}) sums->seen_ns += latency_ns;
  const bool is_due = has_intervals_ && count.interval.explained < explained_in_interval;
  if (count.session.explained >= at_least && credit_ == 0 && !is_due) return false;
  credit_ -= std::min<std::uint64_t>(credit_, 1);
  for (Sums* sums : {&count.session, &count.interval}) {
    ++sums->explained;
    sums->explained_ns += latency_ns;
  }
  return true;
}

void WhySampling::end_interval() {
  has_intervals_ = true;
  for (auto& [key, count] : classes_) count.interval = {};
}

double WhySampling::weight(const Class& of, bool of_interval) const {
  const auto found = classes_.find(of);
  if (std::get<bool>(of) || found == classes_.end()) return 1;
  const Count& count = found->second;
  const Sums& sums =
      of_interval && count.interval.explained_ns > 0 ? count.interval : count.session;
  if (sums.explained_ns == 0) return 1;
  return static_cast<double>(sums.seen_ns) / static_cast<double>(sums.explained_ns);
}

}  // namespace overdue
