#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>

#include "bpf/span.h"
#include "resolve/resolved_stack.h"

namespace overdue {

/// The frames of stacks that were resolved before, by address, each with the rule that finds its
/// caller. A stack of such frames needs no resolver: a profile has the same few frames thousands of
/// times. A stack with any other frame is not found: guessed, generated or signal frames, or a copy
/// that ends early. One thread.
class KnownFrames {
 public:
  /// `names`: frames should have names. At `max_frames`, all are forgotten.
  explicit KnownFrames(bool names, std::size_t max_frames = 1u << 16)
      : names_(names), max_frames_(max_frames) {}

  /// Adds the frames of `stack`, the result for a copy with `registers`. `image`: the id of the
  /// process's mappings, never used for others.
  void learn(std::uint64_t image, const user_registers& registers, const ResolvedStack& stack);

  /// The stack in the copy, as the resolver would return it; nothing unless all frames are known.
  /// Both are those of Resolver::user_stack().
  std::optional<ResolvedStack> find(std::uint64_t image, const user_registers& registers,
                                    std::span<const std::byte> copy) const;

  std::size_t size() const { return places_.size() + by_caller_.size(); }

 private:
  struct Place {
    std::uint64_t image, address, caller;  // caller: in by_caller_, else 0
    bool is_return;
    bool operator==(const Place&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Place& place) const;
  };
  struct Known {
    frame_rule rule;
    bool is_named_by_caller;  ///< `frames` are in by_caller_
    Stack frames;             ///< with the functions inlined into the last
  };
  struct Walk;

  const Known* frames_of(const Known& known, Place place, std::uint64_t caller) const;

  bool names_;
  std::size_t max_frames_;
  std::unordered_map<Place, Known, Hash> places_;
  std::unordered_map<Place, Known, Hash> by_caller_;
};

}  // namespace overdue
