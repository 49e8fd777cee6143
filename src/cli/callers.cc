#include "cli/callers.h"

#include <cstring>

#include <fmt/format.h>

#include "base/text.h"
#include "probes/syscalls/probe.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

constexpr std::size_t rules_kept = 1u << 17;    // twice what the kernel keeps
constexpr std::size_t names_kept = 1u << 16;    // rows of later ones are "(other)"
constexpr std::size_t pending_kept = 1u << 20;  // of calls that have not ended, or were lost

std::string file_name(const std::string& module) {
  return module.substr(module.rfind('/') + 1);
}

}  // namespace

/// A caller_stack, taken apart.
struct Callers::Copy {
  caller_stack record{};
  user_registers registers{};
  std::span<const std::byte> stack{};
  ProgramCode code{};

  std::optional<std::uint64_t> read(std::uint64_t address) const {
    const std::uint64_t at = address - (registers.rsp - USER_RED_ZONE);
    std::uint64_t word = 0;
    if (at >= stack.size() || stack.size() - at < sizeof word) return std::nullopt;
    std::memcpy(&word, stack.data() + at, sizeof word);
    return word;
  }
};

bool Callers::take(const Record& record) {
  if (record.schema->id != RECORD_CALLER_STACK) return false;
  Copy copy{.record = record.as<caller_stack>()};
  constexpr std::size_t fixed = sizeof(caller_stack) + sizeof(user_registers);
  if (record.bytes.size() < fixed) return true;
  std::memcpy(&copy.registers, record.bytes.data() + sizeof(caller_stack), sizeof copy.registers);
  copy.stack = record.bytes.subspan(fixed);
  copy.code = {copy.record.start_code, copy.record.end_code};
  ++stacks_read_;
  if (pending_.size() >= pending_kept) {
    pending_.erase(pending_.begin());
    ++forgotten_;
  }
  pending_[copy.record.number] = caller_of(copy);
  return true;
}

Record Callers::settled(const Record& record) {
  if (record.schema->id != RECORD_SYSCALL_CALL) return record;
  auto number = record.at<std::uint32_t>(offsetof(syscall_call, caller));
  if (!(number & CALLER_PENDING)) return record;
  const auto found = pending_.find(number);
  number = found != pending_.end() ? found->second : CALLER_UNKNOWN;
  if (found != pending_.end()) pending_.erase(found);
  settled_.assign(record.bytes.begin(), record.bytes.end());
  std::memcpy(settled_.data() + offsetof(syscall_call, caller), &number, sizeof number);
  return {record.schema, settled_};
}

std::uint32_t Callers::caller_of(const Copy& copy) {
  // Copies of what has been learned meanwhile: there may be thousands.
  if (const auto known = follow_stack(copy)) return *known;
  StackNamer::UserStack stack =
      stacks_.user_stack(copy.record.header.pid, copy.registers, copy.stack,
                         KernelTime(Duration(copy.record.header.time_ns)));
  if (!stack.end.empty() && !stack.frames.empty() && is_entry_of_loader(stack.frames.back())) {
    stack.end.clear();
    stack.frames.back().rule.flags = FRAME_BOTTOM;
  }
  const auto picked = pick_caller(stack.frames, stack.end.empty(), copy.code);
  learn(copy, stack.frames, picked.value_or(stack.frames.size()));
  if (picked) return number_of(stack.frames[*picked]);
  ++incomplete_;
  if (why_incomplete_.empty()) why_incomplete_ = stack.end;
  return CALLER_UNKNOWN;
}

// As follow_stack() in probes/syscalls/callers.bpf.h, line by line.
std::optional<std::uint32_t> Callers::follow_stack(const Copy& copy) const {
  std::uint64_t pc = copy.registers.rip, sp = copy.registers.rsp, bp = copy.registers.rbp;
  const bool from_program = copy.code.has(pc);
  std::uint32_t inner = CALLER_NONE;
  for (std::uint32_t depth = 0; depth < CALLER_DEPTH; ++depth) {
    const bool in_program = copy.code.has(pc);
    if (depth > 0 && in_program && !from_program) return inner;
    if (depth == 1 && from_program && !in_program) return inner;
    const auto found = rules_.find({.pc = pc, .space = copy.record.space, .is_return = depth > 0});
    if (found == rules_.end()) return std::nullopt;
    const frame_rule& rule = found->second;
    if (depth == 1 && from_program) return rule.caller;
    if (depth > 0 && rule.flags & (FRAME_PROGRAM | FRAME_TRAMPOLINE)) return inner;
    inner = rule.caller;
    if (rule.flags & (FRAME_BOTTOM | FRAME_TRAMPOLINE)) return inner;
    if (rule.flags & FRAME_LOST) return CALLER_UNKNOWN;
    const std::uint64_t cfa = (rule.flags & FRAME_CFA_RBP ? bp : sp) +
                              static_cast<std::uint64_t>(std::int64_t{rule.cfa_offset});
    const auto back = cfa > sp ? copy.read(cfa - 8) : std::nullopt;
    if (!back) return std::nullopt;
    const std::uint64_t slot = cfa + static_cast<std::uint64_t>(std::int64_t{rule.rbp_offset});
    if (rule.flags & FRAME_SAVED_RBP && slot >= sp) {
      const auto saved = copy.read(slot);
      if (!saved) return std::nullopt;
      bp = *saved;
    }
    if (*back == 0) return inner;
    pc = *back;
    sp = cfa;
  }
  return std::nullopt;
}

std::uint32_t Callers::number_of(const StackFrame& frame) {
  const auto next = static_cast<std::uint32_t>(names_.size()) + CALLER_UNKNOWN;
  std::pair name{file_name(frame.module), to_text(frame)};
  if (names_.size() >= names_kept) name = {"(other)", "(other)"};
  const auto [found, is_new] = numbers_.try_emplace(name, next);
  if (is_new) names_.emplace(next, CallerName{name.first, name.second});
  return found->second;
}

/// `last` is the frame that was picked; there may be none.
void Callers::learn(const Copy& copy, const Stack& frames, std::size_t last) {
  for (std::size_t i = 0; i < frames.size() && i <= last; ++i) {
    const StackFrame& frame = frames[i];
    // Found by guessing, of no code that is known, or soon of another: not for good.
    if (frame.is_guessed || frame.module.empty() || is_made_code(frame)) return;
    const frame_key key{.pc = frame.address, .space = copy.record.space, .is_return = i > 0};
    frame_rule rule = frame.rule;
    // The last frame needs no way up to be named, but one to be the last: its caller's place.
    if (!rule.says_something()) return;
    rule.flags &= FRAME_BOTTOM | FRAME_CFA_RBP | FRAME_SAVED_RBP | FRAME_TRAMPOLINE | FRAME_LOST;
    rule.caller = number_of(frame);
    tell(key, rule);
    if (rule.flags & (FRAME_LOST | FRAME_BOTTOM | FRAME_TRAMPOLINE)) return;
  }
  if (last + 1 >= frames.size()) return;
  const StackFrame& outside = frames[last + 1];
  const frame_key key{.pc = outside.address, .space = copy.record.space, .is_return = 1};
  if (outside.is_signal)
    tell(key, {0, 0, CALLER_UNKNOWN, FRAME_TRAMPOLINE});
  else if (is_made_code(outside) && !outside.is_guessed && !copy.code.has(frames[0].address))
    tell(key, {0, 0, CALLER_UNKNOWN, FRAME_PROGRAM});
}

void Callers::tell(const frame_key& key, const frame_rule& rule) {
  if (rules_.size() >= rules_kept) rules_.clear();
  rules_.insert_or_assign(key, rule);
  if (learner_) learner_->learn(key, rule);
}

std::vector<std::string> Callers::notes() const {
  std::vector<std::string> notes = stacks_.notes();
  if (incomplete_ > 0)
    notes.push_back(fmt::format("stacks that do not say who called, under [unknown]: {}{}",
                                grouped(incomplete_),
                                why_incomplete_.empty() ? "" : " (" + why_incomplete_ + ")"));
  if (forgotten_ > 0)
    notes.push_back(fmt::format("calls that took so long that their callers were forgotten: {}",
                                grouped(forgotten_)));
  return notes;
}

}  // namespace overdue
