#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/caller.h"
#include "bpf/callers.h"
#include "cli/live_stacks.h"
#include "core/record.h"

namespace overdue {

/// What is told to the kernel.
class FrameLearner {
 public:
  virtual ~FrameLearner() = default;
  virtual void learn(const frame_key& frame, const frame_rule& rule) = 0;
};

/// Finds out which library function caused system calls, from the stacks that the kernel could not
/// follow; tells it what it needs to follow the next one from there. Used by one thread.
class Callers {
 public:
  /// Make it before anything is loaded into the kernel, as LiveStacks.
  Callers() = default;

  /// Whom to tell; it must live as long as records come.
  void set_learner(FrameLearner& learner) { learner_ = &learner; }
  void begin(const SessionInfo& info) { stacks_.begin(info); }
  void follow() { stacks_.follow(); }

  /// True where the record was a stack, which is done with it.
  bool take(const Record& record);
  /// The record with the number of a caller that has a name in place of that of a stack. Valid
  /// until the next one.
  Record settled(const Record& record);

  const std::map<std::uint32_t, CallerName>& names() const { return names_; }
  std::vector<std::string> notes() const;

 private:
  struct KeyHash {
    std::size_t operator()(const frame_key& key) const {
      return (key.pc * 2 + key.is_return) * 0x9e3779b97f4a7c15u + key.space;
    }
  };
  struct KeyEqual {
    bool operator()(const frame_key& a, const frame_key& b) const {
      return a.pc == b.pc && a.space == b.space && a.is_return == b.is_return;
    }
  };
  struct Copy;

  std::uint32_t caller_of(const Copy& copy);
  std::optional<std::uint32_t> follow_stack(const Copy& copy) const;
  std::uint32_t number_of(const StackFrame& frame);
  void learn(const Copy& copy, const Stack& frames, std::size_t last);
  void tell(const frame_key& key, const frame_rule& rule);

  LiveStacks stacks_;
  FrameLearner* learner_ = nullptr;
  std::unordered_map<frame_key, frame_rule, KeyHash, KeyEqual> rules_;  // as told, or fewer
  std::map<std::pair<std::string, std::string>, std::uint32_t> numbers_;
  std::map<std::uint32_t, CallerName> names_{{CALLER_UNKNOWN, {"[unknown]", "[unknown]"}}};
  std::map<std::uint32_t, std::uint32_t> pending_;  // number of a stack → caller
  std::uint64_t stacks_read_ = 0, incomplete_ = 0, forgotten_ = 0;
  std::string why_incomplete_;  // of one of them
  std::vector<std::byte> settled_;
};

}  // namespace overdue
