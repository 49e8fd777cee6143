#include "report/why/sampling.h"

#include <algorithm>

#include "base/text.h"
#include "core/span_kinds.h"
#include "syscalls/names.h"

namespace overdue {
namespace {

constexpr std::uint64_t explained_per_second = 30, credit_max = 100;
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
  if (wants(class_of_span(span, names), span.header, span.latency_ns, 1.25)) return true;
  ++left_out_;
  return false;
}

bool WhySampling::wants_stacks(const span_record& span) {
  return wants({"runnable", "", without_numbers(fixed_text(span.header.comm)), false}, span.header,
               span.latency_ns, 1);
}

bool WhySampling::wants(Class of, const event_header& header, std::uint64_t latency_ns,
                        double longer) {
  if (classes_.size() >= classes_max && !classes_.contains(of)) return true;
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
  if (count.session.explained >= explained_at_least && credit_ == 0 && !is_due) return false;
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
