#include "live/callers.h"

#include <cstring>

#include <fmt/format.h>

#include "base/text.h"
#include "probes/syscalls/probe.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

constexpr std::size_t rules_kept = 1u << 17;     // twice the number that the kernel keeps
constexpr std::size_t rules_of_file = 1u << 12;  // for other processes that map the file
constexpr std::size_t names_kept = 1u << 16;     // later callers are "(other)"
constexpr std::size_t stacks_kept = 1u << 18;    // calls with an older stack have no known caller

constexpr std::uint64_t syscall_bytes = 2;  // size of the system-call instruction

std::string file_name(const std::string& module) {
  return module.substr(module.rfind('/') + 1);
}

}  // namespace

/// A caller_stack, decoded.
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
  if (stacks_seen_.size() >= stacks_kept) stacks_seen_.erase(stacks_seen_.begin());
  stacks_seen_[copy.record.number] = caller_of(copy);
  return true;
}

Record Callers::settled(const Record& record) {
  if (record.schema->id != RECORD_SYSCALL_CALL) return record;
  auto number = record.at<std::uint32_t>(offsetof(syscall_call, caller));
  if (!(number & CALLER_PENDING)) return record;
  const bool is_shared = number & CALLER_SHARED;
  const auto found = stacks_seen_.find(number & ~CALLER_SHARED);
  const bool is_known = found != stacks_seen_.end() && (!is_shared || found->second.is_near);
  number = is_known ? found->second.caller : CALLER_UNKNOWN;
  unlike_ += !is_known;
  settled_.assign(record.bytes.begin(), record.bytes.end());
  std::memcpy(settled_.data() + offsetof(syscall_call, caller), &number, sizeof number);
  return {record.schema, settled_};
}

Callers::Followed Callers::caller_of(const Copy& copy) {
  // Thousands of stacks may have been copied before their rules were learned.
  if (const auto known = follow_stack(copy)) return *known;
  if (!spaces_.contains(copy.record.space)) {
    enter_space(copy);
    if (const auto known = follow_stack(copy)) return *known;
  }
  // Unwind from the system-call instruction: the next instruction may be another function's.
  user_registers registers = copy.registers;
  registers.rip -= syscall_bytes;
  StackNamer::UserStack stack =
      stacks_.user_stack(copy.record.header.pid, registers, copy.stack,
                         KernelTime(Duration(copy.record.header.time_ns)));
  if (!stack.end.empty() && !stack.frames.empty() && is_entry_of_loader(stack.frames.back())) {
    stack.end.clear();
    stack.frames.back().rule.flags = FRAME_BOTTOM;
  }
  const auto picked = pick_caller(stack.frames, stack.end.empty(), copy.code);
  learn(copy, stack.frames, picked.value_or(stack.frames.size()));
  const auto learned = follow_stack(copy);
  const bool is_near = learned && learned->is_near;
  if (picked) return {number_of(stack.frames[*picked]), is_near};
  ++incomplete_;
  if (why_incomplete_.empty()) why_incomplete_ = stack.end;
  return {CALLER_UNKNOWN, is_near};
}

// Equals follow_stack() in probes/syscalls/callers.bpf.h, line by line.
std::optional<Callers::Followed> Callers::follow_stack(const Copy& copy) const {
  std::uint64_t pc = copy.registers.rip, sp = copy.registers.rsp, bp = copy.registers.rbp;
  const bool from_program = copy.code.has(pc);
  std::uint32_t inner = CALLER_NONE;
  std::uint64_t looked_up_to = sp;
  bool is_bp_saved = false, is_bp_used = false;  // calls that share a copy may differ in rbp
  const auto result = [&](std::uint32_t caller) -> std::optional<Followed> {
    if (caller == CALLER_BY_CALL) return std::nullopt;  // the program did not call it
    return Followed{caller,
                    !is_bp_used && looked_up_to - copy.registers.rsp <= CALLER_SHARED_BYTES};
  };
  for (std::uint32_t depth = 0; depth < CALLER_DEPTH; ++depth) {
    const bool in_program = copy.code.has(pc);
    if (depth > 0 && in_program && !from_program) {
      if (inner != CALLER_BY_CALL) return result(inner);
      const auto site =
          rules_.find({.pc = pc, .space = copy.record.space, .is_return = FRAME_CALL_SITE});
      if (site == rules_.end()) return std::nullopt;
      return result(site->second.caller);
    }
    if (depth == 1 && from_program && !in_program) return result(inner);
    const auto found = rules_.find({.pc = pc, .space = copy.record.space, .is_return = depth > 0});
    if (found == rules_.end()) return std::nullopt;
    const frame_rule& rule = found->second;
    if (depth == 1 && from_program) return result(rule.caller);
    if (depth > 0 && rule.flags & (FRAME_PROGRAM | FRAME_TRAMPOLINE)) return result(inner);
    inner = rule.caller;
    if (rule.flags & (FRAME_BOTTOM | FRAME_TRAMPOLINE)) return result(inner);
    if (rule.flags & FRAME_LOST) return result(CALLER_UNKNOWN);
    const std::uint64_t cfa = (rule.flags & FRAME_CFA_RBP ? bp : sp) +
                              static_cast<std::uint64_t>(std::int64_t{rule.cfa_offset});
    is_bp_used |= rule.flags & FRAME_CFA_RBP && !is_bp_saved;
    const auto back = cfa > sp ? copy.read(cfa - 8) : std::nullopt;
    if (!back) return std::nullopt;
    looked_up_to = std::max(looked_up_to, cfa);
    const std::uint64_t slot = cfa + static_cast<std::uint64_t>(std::int64_t{rule.rbp_offset});
    if (rule.flags & FRAME_SAVED_RBP && slot >= sp) {
      const auto saved = copy.read(slot);
      if (!saved) return std::nullopt;
      bp = *saved;
      is_bp_saved = true;
      looked_up_to = std::max(looked_up_to, slot + sizeof bp);
    }
    if (*back == 0) return result(inner);
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

/// `last`: index of the picked frame; frames.size() if no frame was picked.
void Callers::learn(const Copy& copy, const Stack& frames, std::size_t last) {
  for (std::size_t i = 0; i < frames.size() && i <= last; ++i) {
    const StackFrame& frame = frames[i];
    // No lasting rule for a guessed frame, for code of no file, or for generated code.
    if (frame.is_guessed || frame.module.empty() || is_made_code(frame)) return;
    const std::uint64_t pc = i == 0 ? copy.registers.rip : frame.address;
    const frame_key key{.pc = pc, .space = copy.record.space, .is_return = i > 0};
    frame_rule rule = frame.rule;
    // Even the last frame needs a rule: only its caller's address shows that it is the last.
    if (!rule.says_something()) return;
    if (rule.flags & FRAME_LOST && last < frames.size()) return;  // but a caller was found
    rule.flags &= FRAME_BOTTOM | FRAME_CFA_RBP | FRAME_SAVED_RBP | FRAME_TRAMPOLINE | FRAME_LOST;
    // A function without a name in this stack may get one from another call site.
    const bool is_by_call = frame.is_named_by_call || (frame.name.empty() && i < last);
    rule.caller = is_by_call ? CALLER_BY_CALL : number_of(frame);
    tell(key, rule);
    remember(key, rule);
    if (rule.flags & (FRAME_LOST | FRAME_BOTTOM | FRAME_TRAMPOLINE)) return;
  }
  if (last + 1 >= frames.size()) return;
  const StackFrame& outside = frames[last + 1];
  if (frames[last].is_named_by_call)
    tell({.pc = outside.address, .space = copy.record.space, .is_return = FRAME_CALL_SITE},
         {.cfa_offset = 0, .rbp_offset = 0, .caller = number_of(frames[last]), .flags = 0});
  const frame_key key{.pc = outside.address, .space = copy.record.space, .is_return = 1};
  if (outside.is_signal)
    tell(key, {0, 0, CALLER_UNKNOWN, FRAME_TRAMPOLINE});
  else if (is_made_code(outside) && !outside.is_guessed && !copy.code.has(frames[0].address))
    tell(key, {0, 0, CALLER_UNKNOWN, FRAME_PROGRAM});
}

void Callers::enter_space(const Copy& copy) {
  const frame_key any{.pc = 0, .space = copy.record.space, .is_return = 0};
  auto files =
      stacks_.files_of(copy.record.header.pid, KernelTime(Duration(copy.record.header.time_ns)));
  for (const LiveStacks::MappedFile& file : files) {
    const auto known = by_file_.find(file.number);
    if (known == by_file_.end()) continue;
    for (const auto& [place, rule] : known->second) {
      const auto& [offset, is_return] = place;
      frame_key key = any;
      key.pc = offset - file.file_offset + file.start;
      key.is_return = is_return;
      if (key.pc - is_return >= file.start && key.pc - is_return < file.end) tell(key, rule);
    }
  }
  spaces_.emplace(copy.record.space, std::move(files));
}

void Callers::remember(const frame_key& key, const frame_rule& rule) {
  const auto space = spaces_.find(key.space);
  if (space == spaces_.end()) return;
  const std::uint64_t instruction = key.pc - key.is_return;
  for (const LiveStacks::MappedFile& file : space->second)
    if (instruction >= file.start && instruction < file.end) {
      FileRules& rules = by_file_[file.number];
      if (rules.size() < rules_of_file)
        rules.insert_or_assign({key.pc - file.start + file.file_offset, key.is_return}, rule);
    }
}

void Callers::tell(const frame_key& key, const frame_rule& rule) {
  if (rules_.size() >= rules_kept) {
    rules_.clear();
    spaces_.clear();
  }
  rules_.insert_or_assign(key, rule);
  if (learner_) learner_->learn(key, rule);
}

std::vector<std::string> Callers::notes() const {
  std::vector<std::string> notes;
  if (const Resolver::Cost& cost = stacks_.cost(); cost.unresolved > 0)
    notes.push_back(fmt::format("frames without a name: {} of {} ({}%)", grouped(cost.unresolved),
                                grouped(cost.frames), percent_of(cost.unresolved, cost.frames)));
  for (std::string& note : stacks_.notes()) notes.push_back(std::move(note));
  if (incomplete_ > 0)
    notes.push_back(fmt::format("stacks that do not say who called, under [unknown]: {}{}",
                                grouped(incomplete_),
                                why_incomplete_.empty() ? "" : " (" + why_incomplete_ + ")"));
  if (unlike_ > 0)
    notes.push_back(fmt::format(
        "calls under [unknown] because their stacks were not copied like others were: {}",
        grouped(unlike_)));
  return notes;
}

}  // namespace overdue
