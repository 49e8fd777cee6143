#include "unwind/unwinder.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "unwind/expression.h"
#include "unwind/frame_guess.h"

namespace overdue {
namespace {

using Source = UnwoundFrame::Source;
using Reason = UnwindEnd::Reason;

constexpr std::array callee_saved = {Register::rbx, Register::rbp, Register::r12,
                                     Register::r13, Register::r14, Register::r15};

bool is_callee_saved(Register which) {
  return std::ranges::find(callee_saved, which) != callee_saved.end();
}

bool is_plain(const CfiRule& rule) {
  return rule.kind == CfiRule::Kind::unspecified || rule.kind == CfiRule::Kind::same;
}

frame_rule rule_of(std::uint32_t flags) {
  frame_rule rule{};
  rule.flags = flags;
  return rule;
}

/// `row` as a frame_rule; empty if it does not fit into one.
frame_rule simple_rule(const CfiRow& row) {
  if (row.is_signal_frame) return rule_of(FRAME_TRAMPOLINE);
  const CfiRule& back = row.rule(row.return_address);
  if (back.kind == CfiRule::Kind::undefined) return rule_of(FRAME_BOTTOM);
  const CfiRule& rbp = row.rule(Register::rbp);
  const bool fits = row.cfa.kind == CfiRule::Kind::in_register &&
                    (row.cfa.base == Register::rsp || row.cfa.base == Register::rbp) &&
                    row.return_address == Register::rip && back.kind == CfiRule::Kind::at_offset &&
                    back.value == -8 &&
                    row.rule(Register::rsp).kind == CfiRule::Kind::unspecified &&
                    (is_plain(rbp) || rbp.kind == CfiRule::Kind::at_offset);
  if (!fits) return {};
  frame_rule rule{};
  rule.cfa_offset = row.cfa.value;
  if (row.cfa.base == Register::rbp) rule.flags |= FRAME_CFA_RBP;
  if (is_plain(rbp)) return rule;
  rule.flags |= FRAME_SAVED_RBP;
  rule.rbp_offset = rbp.value;
  return rule;
}

}  // namespace

std::string to_text(const UnwindEnd& end) {
  const std::string where = fmt::format("{:#x} in {}", end.address,
                                        end.module.empty() ? "no file" : printable(end.module));
  switch (end.reason) {
    case Reason::bottom:
      return "complete";
    case Reason::end_of_copy:
      return "the copy of the stack ends";
    case Reason::no_cfi:
      return "no unwind information at " + where;
    case Reason::loop:
      return "the callers go round at " + where;
    case Reason::limit:
      return "more frames than are kept";
  }
  return {};
}

/// The walk up one stack.
class Unwinder::Walk {
 public:
  Walk(Unwinder& unwinder, AddressSpace& space, const StackSnapshot& snapshot)
      : unwinder_(unwinder), space_(space), stack_(snapshot.stack), registers_(snapshot.registers) {
    pc_ = registers_.get(Register::rip).value_or(0);
    result_.frames.push_back({.address = pc_});
  }

  UnwoundStack run() {
    while (!has_ended_) step();
    result_.end.address = result_.frames.back().address;
    if (const Mapping* mapping = space_.maps().find(pc_)) result_.end.module = mapping->path;
    return std::move(result_);
  }

 private:
  void end(Reason reason) {
    has_ended_ = true;
    result_.end.reason = reason;
  }

  void step() {
    UnwoundFrame& frame = result_.frames.back();
    // After a call that never returns, another function may begin.
    const bool is_return = frame.kind == AddressKind::return_address;
    const auto found = unwinder_.row_of(space_, is_return ? pc_ - 1 : pc_);
    if (found && found->row->is_signal_frame) {
      frame.is_signal_frame = true;
      frame.kind = AddressKind::instruction;  // no call from the byte before leads here
    }
    frame.rule = found ? simple_rule(*found->row) : rule_of(FRAME_LOST);
    if (!found || !step_by_cfi(*found)) step_by_guess();
  }

  /// False if the row needs an unknown register: the frame pointer may do instead.
  bool step_by_cfi(const Found& found) {
    const CfiRow& row = *found.row;
    if (row.rule(row.return_address).kind == CfiRule::Kind::undefined) {
      end(Reason::bottom);
      return true;
    }
    const auto cfa = cfa_of(found);
    if (!cfa) return has_ended_;
    Registers caller = registers_;
    for (std::size_t i = 0; i < register_count; ++i) {
      const auto which = Register(i);
      const auto value = value_of(found, which, *cfa);
      if (value)
        caller.set(which, *value);
      else
        caller.forget(which);
    }
    const auto pc = caller.get(row.return_address);
    if (!pc) {
      end(Reason::end_of_copy);
      return true;
    }
    // vfork() takes its return address off the stack, for a child that shares the stack: the
    // caller's stack pointer is then vfork()'s own.
    const bool is_popped = row.rule(row.return_address).kind == CfiRule::Kind::in_register;
    go_to(*pc, caller, Source::cfi, row.is_signal_frame,
          row.is_signal_frame || is_popped || row.cfa.kind == CfiRule::Kind::expression);
    return true;
  }

  std::optional<std::uint64_t> cfa_of(const Found& found) const {
    const CfiRule& rule = found.row->cfa;
    if (rule.kind == CfiRule::Kind::expression)
      return evaluate(found.table->expression(rule), registers_, stack_, std::nullopt);
    const auto base = registers_.get(rule.base);
    if (!base) return std::nullopt;
    return *base + static_cast<std::uint64_t>(std::int64_t{rule.value});
  }

  std::optional<std::uint64_t> value_of(const Found& found, Register which,
                                        std::uint64_t cfa) const {
    const CfiRule& rule = found.row->rule(which);
    const std::uint64_t at = cfa + static_cast<std::uint64_t>(std::int64_t{rule.value});
    switch (rule.kind) {
      case CfiRule::Kind::unspecified:
        if (which == Register::rsp) return cfa;
        if (!is_callee_saved(which)) return std::nullopt;
        return registers_.get(which);
      case CfiRule::Kind::same:
        return registers_.get(which);
      case CfiRule::Kind::undefined:
        return std::nullopt;
      case CfiRule::Kind::at_offset: {
        const auto saved = stack_.read(at);
        // Compilers' CFI does not say that an epilogue has popped the register. Its slot is then
        // below the stack, which is not copied, and the register has its old value again.
        const bool is_popped = !saved && at < registers_.get(Register::rsp).value_or(0);
        return is_popped && is_callee_saved(which) ? registers_.get(which) : saved;
      }
      case CfiRule::Kind::offset:
        return at;
      case CfiRule::Kind::in_register:
        return registers_.get(rule.base);
      case CfiRule::Kind::at_expression:
      case CfiRule::Kind::expression:
        break;
    }
    const auto value = evaluate(found.table->expression(rule), registers_, stack_, cfa);
    if (rule.kind == CfiRule::Kind::expression || !value) return value;
    return stack_.read(*value);
  }

  void step_by_guess() {
    const bool is_first = result_.frames.size() == 1;
    if (pc_ == 0 && !is_first) return end(Reason::bottom);
    const CodeReader code = [&](std::uint64_t address, std::size_t size) {
      return unwinder_.code_at(space_, address, size);
    };
    const FrameGuess guess = guess_caller(space_, code, registers_, stack_, is_first);
    switch (guess.outcome) {
      case FrameGuess::Outcome::found:
        if (guess.is_signal_frame) {
          result_.frames.back().rule = rule_of(FRAME_TRAMPOLINE);
          result_.frames.back().is_signal_frame = true;
          result_.frames.back().kind = AddressKind::instruction;
        }
        go_to(guess.caller.get(Register::rip).value_or(0), guess.caller,
              guess.is_signal_frame ? Source::cfi
              : guess.is_leaf       ? Source::stack_top
                                    : Source::frame_pointer,
              guess.is_signal_frame, guess.is_signal_frame);
        if (!has_ended_) result_.frames.back().follows_gap = guess.may_skip;
        return;
      case FrameGuess::Outcome::end_of_chain:
        // A thread begins with 0 in rbp, but so does code that uses rbp for other values.
        return end(result_.frames.back().source == Source::frame_pointer ? Reason::bottom
                                                                         : Reason::no_cfi);
      case FrameGuess::Outcome::nothing:
        return end(Reason::no_cfi);
    }
  }

  void go_to(std::uint64_t pc, Registers caller, Source source, bool was_interrupted,
             bool may_change_stack) {
    if (pc == 0) return end(Reason::bottom);
    const auto here = registers_.get(Register::rsp), there = caller.get(Register::rsp);
    if (!there) return end(Reason::no_cfi);
    if (!may_change_stack && here && *there <= *here) return end(Reason::loop);
    if (may_change_stack && pc == pc_ && here == there) return end(Reason::loop);
    if (result_.frames.size() >= unwinder_.options_.max_frames) return end(Reason::limit);
    pc_ = pc;
    caller.set(Register::rip, pc);
    registers_ = caller;
    result_.frames.push_back(
        {.address = pc,
         .source = source,
         .kind = was_interrupted ? AddressKind::instruction : AddressKind::return_address});
  }

  Unwinder& unwinder_;
  AddressSpace& space_;
  const StackCopy& stack_;
  Registers registers_;
  std::uint64_t pc_ = 0;
  UnwoundStack result_;
  bool has_ended_ = false;
};

UnwoundStack Unwinder::unwind(AddressSpace& space, const StackSnapshot& snapshot) {
  return Walk(*this, space, snapshot).run();
}

FramePointerWalk walk_frame_pointers(const AddressSpace& space, const StackSnapshot& snapshot,
                                     std::size_t max_frames) {
  FramePointerWalk walk;
  walk.addresses.push_back(snapshot.registers.get(Register::rip).value_or(0));
  std::uint64_t frame = snapshot.registers.get(Register::rbp).value_or(0);
  std::uint64_t lowest = snapshot.registers.get(Register::rsp).value_or(0);
  while (walk.addresses.size() < max_frames) {
    const auto next = next_frame(space, snapshot.stack, frame, lowest);
    if (!next) {
      walk.is_complete = frame == 0;
      break;
    }
    walk.addresses.push_back(next->return_address);
    lowest = frame + 16;
    frame = next->frame_pointer;
  }
  return walk;
}

}  // namespace overdue
