#include "resolve/known_frames.h"

#include <algorithm>
#include <cstring>

namespace overdue {
namespace {

constexpr std::size_t usual_depth = 64;
constexpr std::size_t deepest = 512;  // as StackReader::Options::max_frames

/// Whether the frame is the same for every thread at its address.
bool is_lasting(const StackFrame& frame) {
  const bool is_of_file = !frame.build_id.empty() || !frame.name.empty();
  return !frame.is_guessed && !frame.is_signal && !frame.is_jit && !frame.follows_gap &&
         !frame.module.empty() && is_of_file;
}

/// Whether a rule alone finds the caller, or ends the stack.
bool is_followed(const frame_rule& rule) {
  return rule.says_something() && !(rule.flags & (FRAME_LOST | FRAME_TRAMPOLINE));
}

}  // namespace

std::size_t KnownFrames::Hash::operator()(const Place& place) const {
  std::uint64_t hash = place.image * 2 + (place.is_return ? 1 : 0);
  for (const std::uint64_t word : {place.address, place.caller}) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

/// Goes up a stack by rules. What the rules do not decide ends the walk: the resolver's unwinder
/// must find nothing else than this.
struct KnownFrames::Walk {
  std::uint64_t pc, sp, bp;
  std::uint64_t copy_begin;
  std::span<const std::byte> copy;

  std::optional<std::uint64_t> read(std::uint64_t address) const {
    std::uint64_t word = 0;
    const std::uint64_t offset = address - copy_begin;
    if (address < copy_begin || copy.size() < sizeof word || offset > copy.size() - sizeof word)
      return std::nullopt;
    std::memcpy(&word, copy.data() + offset, sizeof word);
    return word;
  }

  /// False if the copy does not have what the rule needs.
  bool go_up(const frame_rule& rule) {
    const auto plus = [](std::uint64_t base, std::int32_t offset) {
      return base + static_cast<std::uint64_t>(std::int64_t{offset});
    };
    const std::uint64_t cfa = plus(rule.flags & FRAME_CFA_RBP ? bp : sp, rule.cfa_offset);
    const auto back = cfa > sp ? read(cfa - 8) : std::nullopt;
    if (!back) return false;
    if (rule.flags & FRAME_SAVED_RBP) {
      const std::uint64_t slot = plus(cfa, rule.rbp_offset);
      const auto saved = read(slot);
      if (!saved && slot >= sp) return false;  // below the stack, an epilogue has popped it
      bp = saved.value_or(bp);
    }
    pc = *back;
    sp = cfa;
    return true;
  }
};

void KnownFrames::learn(std::uint64_t image, const user_registers& registers,
                        const ResolvedStack& stack) {
  if (size() + stack.frames.size() > max_frames_) {
    places_.clear();
    by_caller_.clear();
  }
  const Stack& frames = stack.frames;
  for (std::size_t begin = 0; begin < frames.size();) {
    std::size_t end = begin;
    while (end + 1 < frames.size() && frames[end].is_inlined) ++end;
    const StackFrame& outer = frames[end++];
    const bool is_last = end == frames.size();
    if (!std::all_of(frames.begin() + static_cast<std::ptrdiff_t>(begin),
                     frames.begin() + static_cast<std::ptrdiff_t>(end), is_lasting) ||
        !is_followed(outer.rule) || (is_last && stack.end != StackEnd::complete))
      return;
    Known known{
        .rule = outer.rule,
        .is_named_by_caller = names_ && (outer.is_named_by_call || outer.name.empty() || is_last),
        .frames = {frames.begin() + static_cast<std::ptrdiff_t>(begin),
                   frames.begin() + static_cast<std::ptrdiff_t>(end)}};
    Place place{.image = image,
                .address = begin == 0 ? registers.rip : outer.address,
                .caller = 0,
                .is_return = begin > 0};
    if (known.is_named_by_caller) {
      Place with_caller = place;
      with_caller.caller = is_last ? 0 : frames[end].address;
      by_caller_.insert_or_assign(with_caller, known);
      known.frames.clear();
    }
    places_.insert_or_assign(place, std::move(known));
    begin = end;
  }
}

const KnownFrames::Known* KnownFrames::frames_of(const Known& known, Place place,
                                                 std::uint64_t caller) const {
  if (!known.is_named_by_caller) return &known;
  place.caller = caller;
  const auto found = by_caller_.find(place);
  return found == by_caller_.end() ? nullptr : &found->second;
}

std::optional<ResolvedStack> KnownFrames::find(std::uint64_t image, const user_registers& registers,
                                               std::span<const std::byte> copy) const {
  if (places_.empty() || registers.rsp < USER_RED_ZONE) return std::nullopt;
  Walk walk{.pc = registers.rip,
            .sp = registers.rsp,
            .bp = registers.rbp,
            .copy_begin = registers.rsp - USER_RED_ZONE,
            .copy = copy};
  ResolvedStack stack;
  stack.frames.reserve(usual_depth);
  for (std::size_t depth = 0; depth < deepest; ++depth) {
    const Place place{.image = image, .address = walk.pc, .caller = 0, .is_return = depth > 0};
    const auto found = places_.find(place);
    if (found == places_.end()) return std::nullopt;
    const frame_rule& rule = found->second.rule;
    const bool is_bottom = rule.flags & FRAME_BOTTOM;
    if (!is_bottom && !walk.go_up(rule)) return std::nullopt;
    const bool is_last = is_bottom || walk.pc == 0;
    const Known* known = frames_of(found->second, place, is_last ? 0 : walk.pc);
    if (!known) return std::nullopt;
    for (const StackFrame& frame : known->frames) {
      stack.unresolved += names_ ? frame.name.empty() : frame.module.empty();
      stack.frames.push_back(frame);
    }
    if (is_last) return stack;
  }
  return std::nullopt;
}

}  // namespace overdue
