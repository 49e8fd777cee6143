#include "report/why/sampling.h"

#include <algorithm>

#include "base/text.h"
#include "core/span_kinds.h"
#include "syscalls/names.h"

namespace overdue {
namespace {

constexpr std::uint64_t explained_per_second = 50, credit_max = 200;
constexpr std::uint64_t ns_per_second = 1'000'000'000;
constexpr std::uint64_t explained_at_least = 20;    // of each class
constexpr std::uint64_t explained_in_interval = 5;  // of each class, at least
constexpr std::size_t classes_max = 5'000, longest_max = 50'000;

WhySampling::Class class_of_span(const span_record& span, const Names& names) {
  const span_kind kind = known_span_kind(span.span);
  return {span_name(kind),
          kind == SPAN_SYSCALL
              ? syscall_name(ABI_NATIVE, static_cast<std::uint32_t>(span.subject), names)
              : "",
          without_numbers(fixed_text(span.header.comm)), false};
}

}  // namespace

WhySampling::Class WhySampling::class_of(const Finding& finding) const {
  const std::pair key(static_cast<std::uint64_t>(finding.time.time_since_epoch().count()),
                      finding.thread.tid);
  return {finding.span, finding.span == span_name(SPAN_SYSCALL) ? finding.name : "",
          without_numbers(finding.thread.comm), longest_.contains(key)};
}

bool WhySampling::wants(const span_record& span, const Names& names) {
  Class key = class_of_span(span, names);
  if (classes_.size() >= classes_max && !classes_.contains(key)) return true;
  Count& count = classes_[std::move(key)];
  const std::uint64_t now_ns = span.header.time_ns;
  const std::uint64_t since_ns = now_ns > credited_ns_ ? now_ns - credited_ns_ : 0;
  if (const std::uint64_t more = since_ns * explained_per_second / ns_per_second; more > 0) {
    credit_ = std::min(credit_max, credit_ + more);
    credited_ns_ = now_ns;
  }
  if (span.latency_ns > count.longest_ns + count.longest_ns / 4) {
    count.longest_ns = span.latency_ns;
    if (longest_.size() < longest_max) longest_.emplace(now_ns, span.header.tid);
    return true;
  }
  for (Sums* sums : {&count.session, &count.interval}) sums->seen_ns += span.latency_ns;
  const bool is_due = has_intervals_ && count.interval.explained < explained_in_interval;
  if (count.session.explained >= explained_at_least && credit_ == 0 && !is_due) {
    ++left_out_;
    return false;
  }
  credit_ -= std::min<std::uint64_t>(credit_, 1);
  for (Sums* sums : {&count.session, &count.interval}) {
    ++sums->explained;
    sums->explained_ns += span.latency_ns;
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
