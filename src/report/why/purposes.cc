#include "report/why/purposes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "analysis/wait_functions.h"
#include "core/span_kinds.h"
#include "report/why/answers.h"
#include "report/why/known_waits.h"
#include "report/why/others_waits.h"
#include "report/why/root.h"
#include "syscalls/wait_reasons.h"

namespace overdue {
namespace {

using Use = Purposes::Use;

constexpr std::size_t parts_max = 50'000, open_calls_max = 20'000;
constexpr std::array all_uses = {Use::network, Use::lock, Use::sleep, Use::work};

bool has_function(const Stack& stack, std::span<const std::string_view> globs) {
  return std::ranges::any_of(stack, [&](const StackFrame& frame) {
    return std::ranges::any_of(globs,
                               [&](std::string_view glob) { return is_named(glob, frame.name); });
  });
}

/// Whether a thread waited in a socket, or was woken by one that it watched.
bool is_for_socket(const Finding& finding) {
  static constexpr std::string_view waiting[] = {
      "sk_wait_data",          "sk_stream_wait_*", "unix_stream_*",        "unix_dgram_*",
      "unix_wait_for_*",       "inet_wait_for_*",  "inet_csk_wait_for_*",  "inet_stream_connect*",
      "sock_alloc_send_pskb*", "__skb_wait_for_*", "__inet_stream_connect"};
  static constexpr std::string_view waking[] = {"sock_def_*", "sk_stream_write_space"};
  if (finding.purpose.by == Answers::by_opened) return true;
  if (finding.object && (finding.object->kind == "socket" || finding.object->kind == "unix"))
    return true;
  const KnownLock* known = finding.user_stack ? known_lock_in(*finding.user_stack) : nullptr;
  if (known && known->name.starts_with("DNS")) return true;
  const Wait* wait = finding.longest_wait();
  if (!wait) return has_function(finding.kernel_stack, waiting);
  return has_function(wait->kernel_stack, waiting) ||
         (wait->waker && has_function(wait->waker->stack, waking));
}

/// What a thread waited for in the part of its call that is no delay; none: not known.
std::optional<Use> use_when_idle(const Finding& finding) {
  const WaitPurpose& purpose = finding.purpose;
  if (purpose.of == "time") return Use::sleep;
  if (purpose.of == "work" || purpose.by == "habit") return Use::work;
  return std::nullopt;
}

std::optional<Use> use_when_late(const Finding& finding, wait_reason from) {
  const bool may_be_socket = from == REASON_INPUT || from == REASON_OUTPUT || from == REASON_EVENTS;
  if (may_be_socket && is_for_socket(finding)) return Use::network;
  return std::nullopt;
}

/// Uninterruptible waits for locks of the kernel.
std::uint64_t kernel_lock_ns(const Finding& finding) {
  std::uint64_t ns = 0;
  for (const WaitPlace& place : finding.places)
    if (place.state == "uninterruptible" && place.longest < finding.waits.size() &&
        is_kernel_lock(known_kernel_wait(finding.waits[place.longest])))
      ns += place.blocked_ns;
  return ns;
}

/// The reason that has the waits for a use, or the sum of its own.
std::uint64_t& reason_with(WhyRow& row, Use use) {
  switch (use) {
    case Use::network:
      return row.network_ns;
    case Use::lock:
      return row.reason_ns[REASON_LOCK];
    case Use::sleep:
      return row.reason_ns[REASON_SLEEP];
    default:
      return row.work_ns;
  }
}

/// Time of a row by reason and use.
using Moved = std::map<std::pair<wait_reason, Use>, double>;

void move_parts(WhyRow& row, const Moved& moved) {
  std::map<wait_reason, double> others_ns;
  for (const auto& [what, ns] : moved)
    if (what.second != Use::network) others_ns[what.first] += ns;
  std::map<wait_reason, std::uint64_t> rest_ns;  // without the network
  for (const Use use : all_uses)
    for (const auto& [what, ns] : moved) {
      if (what.second != use) continue;
      std::uint64_t& reason_ns = row.reason_ns[what.first];
      const bool is_first = use == Use::network;
      if (!is_first) rest_ns.try_emplace(what.first, reason_ns);
      const double share = is_first ? 1
                                    : std::min(1.0, static_cast<double>(rest_ns[what.first]) /
                                                        std::max(1.0, others_ns[what.first]));
      const std::uint64_t part_ns = std::min(reason_ns, static_cast<std::uint64_t>(ns * share));
      reason_ns -= part_ns;
      reason_with(row, use) += part_ns;
    }
}

}  // namespace

void Purposes::add(const Finding& finding, const WhySampling::Class& of, wait_reason from, Use use,
                   std::uint64_t ns) {
  if (ns == 0) return;
  const Key key{finding.thread.tid, from, use};
  std::map<Key, std::uint64_t>& sums = sums_[of];
  if (const auto known = sums.find(key); known != sums.end()) {
    known->second += ns;
  } else if (kept_ < parts_max) {
    sums[key] = ns;
    ++kept_;
  }
}

void Purposes::add(const Finding& finding, const WhySampling::Class& of) {
  const bool is_call = finding.span == span_name(SPAN_SYSCALL);
  const wait_reason from = is_call ? wait_reason_of_call(finding.name) : REASON_OTHER;
  const auto idle = use_when_idle(finding), late = use_when_late(finding, from);
  if (is_call && finding.type == "hang") {
    const auto use = finding.purpose.meant_ns > 0 ? idle : late;
    if (use && open_.size() < open_calls_max)
      open_[finding.thread.tid] = {finding.time, from, *use};
    return;
  }
  if (!has_own_waits(finding)) return;
  if (is_call) open_.erase(finding.thread.tid);
  add(finding, of, REASON_OTHER, Use::lock, kernel_lock_ns(finding));
  if (!is_call || !finding.breakdown) return;
  const std::uint64_t asleep_ns = finding.breakdown->ns(ShareKind::sleeping);
  const std::uint64_t meant_ns = std::min(finding.purpose.meant_ns, asleep_ns);
  if (idle && (from != REASON_SLEEP || *idle != Use::sleep))
    add(finding, of, from, *idle, meant_ns);
  if (late) add(finding, of, from, *late, asleep_ns - meant_ns);
}

std::vector<Purposes::Part> Purposes::parts(const WhySampling& sampling,
                                            const std::vector<OffcpuRow>& threads,
                                            KernelTime end) const {
  std::vector<Part> all;
  for (const auto& [of, sums] : sums_) {
    const double weight = sampling.weight(of);
    for (const auto& [key, ns] : sums) {
      const auto& [tid, from, use] = key;
      all.push_back({tid, from, use, static_cast<double>(ns) * weight});
    }
  }
  for (const OffcpuRow& thread : threads) {
    const auto open = open_.find(thread.tid);
    if (open == open_.end()) continue;
    // A wait that has begun since the call was seen may be one of another call.
    const Duration present(thread.open_ns);
    if (end - present > open->second.time) continue;
    all.push_back({thread.tid, open->second.from, open->second.use,
                   static_cast<double>(std::min(thread.open_ns, thread.wall_ns))});
  }
  return all;
}

std::vector<Purposes::Part> parts_of_answers(const std::vector<Finding>& answers,
                                             const std::vector<OffcpuRow>& threads) {
  std::map<std::uint32_t, std::vector<std::pair<KernelTime, KernelTime>>> by_tid;
  for (const Finding& answer : answers)
    if (is_answer(answer))
      by_tid[answer.thread.tid].emplace_back(answer.time - Duration(answer.latency_ns),
                                             answer.time);
  std::vector<Purposes::Part> all;
  for (const OffcpuRow& thread : threads) {
    const auto found = by_tid.find(thread.tid);
    if (found == by_tid.end() || thread.wall_ns == 0) continue;
    std::ranges::sort(found->second);
    Duration awaited{};  // several answers at once count once
    KernelTime until{};
    for (const auto& [from, to] : found->second) {
      awaited += std::max(Duration{}, to - std::max(from, until));
      until = std::max(until, to);
    }
    // The loop did other things meanwhile, for as much of the time as it always does.
    const double polling =
        static_cast<double>(thread.reason_ns[REASON_EVENTS]) / static_cast<double>(thread.wall_ns);
    all.push_back({thread.tid, REASON_EVENTS, Use::network,
                   static_cast<double>(awaited.count()) * std::min(1.0, polling)});
  }
  return all;
}

void find_purposes(std::vector<WhyRow>& rows, Whose by, const std::vector<OffcpuRow>& threads,
                   const std::vector<Purposes::Part>& parts) {
  const RowPlaces places(rows, by, threads);
  std::map<std::size_t, Moved> moved;
  for (const Purposes::Part& part : parts)
    if (const auto place = places.of(part.tid)) moved[*place][{part.from, part.use}] += part.ns;
  for (const auto& [place, of_row] : moved) move_parts(rows[place], of_row);
}

}  // namespace overdue
