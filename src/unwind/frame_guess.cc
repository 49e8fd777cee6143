#include "unwind/frame_guess.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "unwind/unwinder.h"

namespace overdue {
namespace {

using Outcome = FrameGuess::Outcome;

bool begins_with(const std::vector<std::byte>& code, std::initializer_list<unsigned char> bytes) {
  return code.size() >= bytes.size() &&
         std::equal(bytes.begin(), bytes.end(), code.begin(),
                    [](unsigned char a, std::byte b) { return std::byte{a} == b; });
}

/// The distance from rsp to the return address if a function has not made its frame yet, or has
/// left it.
std::optional<std::uint64_t> depth_at_edge(const std::vector<std::byte>& code) {
  if (begins_with(code, {0x55}) || begins_with(code, {0xf3, 0x0f, 0x1e, 0xfa}) ||
      begins_with(code, {0xc3}) || begins_with(code, {0xf3, 0xc3}))
    return 0;  // push %rbp, endbr64, ret
  if (begins_with(code, {0x48, 0x89, 0xe5}) || begins_with(code, {0x48, 0x8b, 0xec}))
    return 8;  // mov %rsp, %rbp after a push
  return std::nullopt;
}

/// Whether the instruction before `address` can be a call; false for code that is not in a file.
bool follows_call(const AddressSpace& space, const CodeReader& read, std::uint64_t address) {
  if (address < 16 || !space.is_code(address)) return false;
  const auto code = read(address - 7, 7);
  if (code.size() != 7) return false;
  if (code[2] == std::byte{0xe8}) return true;
  for (const std::size_t at : {0u, 1u, 3u, 4u, 5u})  // ff /2 with 7, 6, 4, 3 or 2 bytes
    if (code[at] == std::byte{0xff} && (code[at + 1] & std::byte{0x38}) == std::byte{0x10})
      return true;
  return false;
}

/// Whether the instruction before `address` calls the function that `pc` seems to be in.
bool follows_call_of(const AddressSpace& space, const CodeReader& read, std::uint64_t address,
                     std::uint64_t pc) {
  constexpr std::uint64_t longest_leaf = 4096;
  if (address < 16 || !space.is_code(address)) return false;
  const auto code = read(address - 5, 5);
  if (code.size() != 5 || code[0] != std::byte{0xe8}) return false;
  std::int32_t distance;
  std::memcpy(&distance, code.data() + 1, sizeof distance);
  const std::uint64_t target = address + static_cast<std::uint64_t>(std::int64_t{distance});
  return target <= pc && pc - target < longest_leaf;
}

/// Whether the code is the signal trampoline of a C library without CFI for it: mov $15, %rax;
/// syscall.
bool is_signal_return(const std::vector<std::byte>& code) {
  return begins_with(code, {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05});
}

/// The interrupted frame. rsp is at the kernel's frame: a ucontext, whose registers begin 40 bytes
/// into it.
FrameGuess interrupted(const StackCopy& stack, std::uint64_t stack_pointer) {
  constexpr std::array order = {
      Register::r8,  Register::r9,  Register::r10, Register::r11, Register::r12, Register::r13,
      Register::r14, Register::r15, Register::rdi, Register::rsi, Register::rbp, Register::rbx,
      Register::rdx, Register::rax, Register::rcx, Register::rsp, Register::rip};
  FrameGuess guess{.is_signal_frame = true};
  std::uint64_t at = stack_pointer + 40;
  for (const Register which : order) {
    const auto value = stack.read(at);
    if (!value) return {};
    guess.caller.set(which, *value);
    at += 8;
  }
  guess.outcome = Outcome::found;
  return guess;
}

FrameGuess with_return_at(const StackCopy& stack, const Registers& registers, std::uint64_t at) {
  const auto address = stack.read(at);
  if (!address) return {};
  FrameGuess guess{.outcome = Outcome::found, .caller = registers, .is_leaf = true};
  guess.caller.set(Register::rip, *address);
  guess.caller.set(Register::rsp, at + 8);
  return guess;
}

/// Whether the stack from `begin` to `end` may hold a return address. If not, no called function
/// has its frame there. If so, it may also be an old return address, or a pointer. Only words with
/// the ABI's alignment count. Any address in memory that may hold generated code may be a return
/// address, and so may a word that was not copied.
bool may_hold_return_address(const AddressSpace& space, const CodeReader& read,
                             const StackCopy& stack, std::uint64_t begin, std::uint64_t end) {
  for (std::uint64_t at = begin + (begin % 16 == 0 ? 8 : 0); at < end; at += 16) {
    const auto word = stack.read(at);
    if (!word) return true;
    if (!space.is_code(*word)) continue;
    const Mapping* mapping = space.maps().find(*word);
    if (may_hold_made_code(*mapping) || follows_call(space, read, *word)) return true;
  }
  return false;
}

}  // namespace

std::optional<FrameLink> next_frame(const AddressSpace& space, const StackCopy& stack,
                                    std::uint64_t frame, std::uint64_t lowest) {
  if (frame < lowest || frame % 8 != 0 || frame > ~std::uint64_t{0} - 16) return std::nullopt;
  const auto next = stack.read(frame), address = stack.read(frame + 8);
  if (!next || !address || !space.is_code(*address)) return std::nullopt;
  if (*next != 0 && *next <= frame) return std::nullopt;
  return FrameLink{.frame_pointer = *next, .return_address = *address};
}

FrameGuess guess_caller(const AddressSpace& space, const CodeReader& read,
                        const Registers& registers, const StackCopy& stack, bool is_first) {
  const auto pc = registers.get(Register::rip), stack_pointer = registers.get(Register::rsp);
  if (!pc || !stack_pointer) return {};
  const auto code = space.is_code(*pc) ? read(*pc, 9) : std::vector<std::byte>();
  if (is_signal_return(code)) return interrupted(stack, *stack_pointer);
  if (is_first) {
    if (const auto depth = depth_at_edge(code)) {
      FrameGuess guess = with_return_at(stack, registers, *stack_pointer + *depth);
      if (*depth > 0 && guess.outcome == Outcome::found) {
        const auto pushed = stack.read(*stack_pointer);
        if (pushed) guess.caller.set(Register::rbp, *pushed);
      }
      if (guess.outcome == Outcome::found &&
          space.is_code(guess.caller.get(Register::rip).value_or(0)))
        return guess;
    }
    const auto top = stack.read(*stack_pointer);
    // A jump to an invalid address has pushed only the return address; a leaf may keep its caller's
    // frame pointer.
    if (top && (space.is_code(*pc) ? follows_call_of(space, read, *top, *pc)
                                   : follows_call(space, read, *top)))
      return with_return_at(stack, registers, *stack_pointer);
  }
  const auto frame = registers.get(Register::rbp);
  const auto link = frame ? next_frame(space, stack, *frame, *stack_pointer) : std::nullopt;
  if (link) {
    FrameGuess guess{.outcome = Outcome::found};  // other registers that it saved are unknown
    guess.caller.set(Register::rip, link->return_address);
    guess.caller.set(Register::rsp, *frame + 16);
    guess.caller.set(Register::rbp, link->frame_pointer);
    guess.may_skip = may_hold_return_address(space, read, stack, *stack_pointer, *frame);
    return guess;
  }
  const auto top = is_first ? stack.read(*stack_pointer) : std::nullopt;
  if (top && follows_call(space, read, *top))
    return with_return_at(stack, registers, *stack_pointer);
  return {.outcome = frame && *frame == 0 ? Outcome::end_of_chain : Outcome::nothing};
}

}  // namespace overdue
