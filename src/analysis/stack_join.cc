#include "analysis/stack_join.h"

#include <algorithm>

#include "bpf/sched.h"
#include "bpf/user_stack.h"

namespace overdue {
namespace {

bool has_deferred_stack(const Record& record) {
  return record.schema->id == RECORD_SCHED_WAIT &&
         record.as<sched_wait>().flags & WAIT_STACK_DEFERRED;
}

bool belongs(const wait_stack& stack, const event_header& wait) {
  return wait.tid == stack.header.tid && wait.time_ns >= stack.since_ns &&
         wait.time_ns <= stack.header.time_ns;
}

}  // namespace

void StackJoin::record(const Record& record) {
  if (record.schema->id == RECORD_WAIT_STACK) return stack(record);
  const event_header header = record.header();
  advance(header.time_ns);
  const bool deferred = has_deferred_stack(record);
  if (kept_.empty() && !deferred) return handler_(record, nullptr);
  Kept kept{.record = Owned(record), .stack = {}, .is_waiting = deferred};
  const auto early = std::find_if(early_.begin(), early_.end(), [&](const Owned& one) {
    return deferred && belongs(one.record().as<wait_stack>(), header);
  });
  if (early != early_.end()) {
    kept.stack = *early;
    kept.is_waiting = false;
  }
  kept_.push_back(std::move(kept));
  if (kept_.size() > max_kept) kept_.front().is_waiting = false;
  release();
}

void StackJoin::stack(const Record& record) {
  const auto fixed = record.as<wait_stack>();
  bool found = false;
  for (Kept& kept : kept_) {
    if (!kept.is_waiting || !belongs(fixed, kept.record.record().header())) continue;
    kept.stack = Owned(record);
    kept.is_waiting = false;
    found = true;
  }
  if (found) return release();
  // The stack may be read before its wait, which another CPU has written.
  early_.emplace_back(record);
  if (early_.size() > max_early) early_.pop_front();
}

void StackJoin::advance(std::uint64_t now_ns) {
  while (!kept_.empty()) {
    const std::uint64_t since_ns = kept_.front().record.record().header().time_ns;
    if (now_ns <= since_ns || now_ns - since_ns <= patience_ns) return;
    kept_.front().is_waiting = false;
    release();
  }
}

void StackJoin::finish() {
  for (Kept& kept : kept_) kept.is_waiting = false;
  release();
}

void StackJoin::release() {
  while (!kept_.empty() && !kept_.front().is_waiting) {
    const Kept first = std::move(kept_.front());
    kept_.pop_front();
    const Record stack = first.stack.record();
    handler_(first.record.record(), first.stack.schema ? &stack : nullptr);
  }
}

}  // namespace overdue
