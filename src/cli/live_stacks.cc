#include "cli/live_stacks.h"

#include <fstream>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "resolve/local_resolver.h"
#include "resolve/sandboxed_resolver.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

constexpr std::size_t names_kept = 65536;

/// Why `stack` goes no further; empty where it is complete.
std::string end_of(const ResolvedStack& stack) {
  if (stack.end == StackEnd::complete) return {};
  const std::string_view reason = to_text(stack.end);
  return stack.end_module.empty() ? std::string(reason)
                                  : fmt::format("{} in {}", reason, stack.end_module);
}

}  // namespace

LiveStacks::LiveStacks(bool names) {
  const Resolver::Options options{.names = names};
  try {
    resolver_ =
        std::make_unique<SandboxedResolver>(images_, options, SandboxedResolver::SandboxOptions{});
  } catch (const Error& error) {
    without_sandbox_ = error.what();
    resolver_ = std::make_unique<LocalResolver>(images_, options, StackReader::Options{});
  }
}

void LiveStacks::begin(const SessionInfo& info) {
  try {
    events_.emplace();
  } catch (const Error& error) {
    without_events_ = error.what();
  }
  for (const std::uint32_t pid : info.target.pids) images_.add_target(static_cast<pid_t>(pid));
}

void LiveStacks::follow() {
  if (events_)
    events_->drain(KernelClock::now(), [this](const ProcessEvent& event) {
      images_.handle(event);
      note_name(event);
    });
}

Stack LiveStacks::kernel_stack(std::span<const std::uint64_t> addresses) {
  return resolver_->kernel_stack(addresses).frames;
}

StackNamer::UserStack LiveStacks::user_stack(std::uint32_t pid, const user_registers& registers,
                                             std::span<const std::byte> copy, KernelTime at) {
  follow();
  ResolvedStack stack = resolver_->user_stack(static_cast<pid_t>(pid), registers, copy, at);
  std::string end = end_of(stack);
  return {.frames = std::move(stack.frames), .end = std::move(end)};
}

/// What the kernel tells of names while we measure; processes may be gone when they are asked for.
void LiveStacks::note_name(const ProcessEvent& event) {
  if (names_.size() >= names_kept) names_.clear();
  const auto tid = static_cast<std::uint32_t>(event.tid);
  if (event.kind == ProcessEvent::Kind::exec || event.kind == ProcessEvent::Kind::name)
    names_[tid] = event.text;
  else if (event.kind == ProcessEvent::Kind::fork)
    names_.erase(tid);  // the number is another's now
}

std::string LiveStacks::thread_name(std::uint32_t, std::uint32_t tid) {
  follow();
  if (const auto known = names_.find(tid); known != names_.end()) return known->second;
  std::ifstream file(fmt::format("/proc/{}/comm", tid), std::ios::binary);
  std::string comm;
  std::getline(file, comm);
  if (!comm.empty()) names_[tid] = comm;
  return comm;
}

std::vector<std::string> LiveStacks::notes() const {
  std::vector<std::string> notes;
  const Resolver::Cost& cost = resolver_->cost();
  if (cost.unresolved > 0)
    notes.push_back(fmt::format(
        "frames without a name: {} of {} ({:.1f}%)", grouped(cost.unresolved), grouped(cost.frames),
        100.0 * static_cast<double>(cost.unresolved) / static_cast<double>(cost.frames)));
  if (cost.failed > 0)
    notes.push_back(fmt::format("stacks that the resolver gave up on: {}", grouped(cost.failed)));
  if (cost.unknown_processes > 0)
    notes.push_back(
        fmt::format("stacks of processes that had gone before anything was known of them: {}",
                    grouped(cost.unknown_processes)));
  if (!without_sandbox_.empty())
    notes.push_back("symbols were read without a sandbox: " + without_sandbox_);
  if (!without_events_.empty())
    notes.push_back("processes that end early have no user stacks: " + without_events_);
  return notes;
}

}  // namespace overdue
