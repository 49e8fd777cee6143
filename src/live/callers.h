#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/caller.h"
#include "bpf/callers.h"
#include "core/record.h"
#include "live/live_stacks.h"

namespace overdue {

/// Receives the frame rules for the kernel.
class FrameLearner {
 public:
  virtual ~FrameLearner() = default;
  virtual void learn(const frame_key& frame, const frame_rule& rule) = 0;
};

/// Finds the library function that caused each system call, from the stacks that the kernel could
/// not unwind, and gives the kernel the rules to unwind the next such stack. Used by one thread.
class Callers {
 public:
  /// Construct it before anything is loaded into the kernel, like LiveStacks.
  explicit Callers(const LiveStacks::Options& stacks) : stacks_(stacks) {}

  /// `learner` receives the rules; it must live as long as records come.
  void set_learner(FrameLearner& learner) { learner_ = &learner; }
  void begin(const SessionInfo& info) {
    stacks_.begin(info);
    stacks_.warm_up();
  }
  void while_waiting(const std::function<void()>& meanwhile) { stacks_.while_waiting(meanwhile); }
  /// In a burst, a stack may wait for seconds: events of the last five seconds stay unread.
  void follow() { stacks_.follow(std::chrono::seconds(5)); }

  /// True if the record is a stack, which is then consumed.
  bool take(const Record& record);
  /// The record with the number of a named caller in place of the number of a stack. Valid until
  /// the next call.
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
  struct Followed {
    std::uint32_t caller = CALLER_UNKNOWN;
    bool is_near = false;  ///< depends on the first CALLER_SHARED_BYTES only
  };

  Followed caller_of(const Copy& copy);
  std::optional<Followed> follow_stack(const Copy& copy) const;
  std::uint32_t number_of(const StackFrame& frame);
  void learn(const Copy& copy, const Stack& frames, std::size_t last);
  void tell(const frame_key& key, const frame_rule& rule);
  /// The rules of a file hold for every process that maps the file.
  void enter_space(const Copy& copy);
  void remember(const frame_key& key, const frame_rule& rule);

  LiveStacks stacks_;
  FrameLearner* learner_ = nullptr;
  std::unordered_map<frame_key, frame_rule, KeyHash, KeyEqual> rules_;  // the kernel's, or fewer
  /// Rules of a file, by offset and is_return.
  using FileRules = std::map<std::pair<std::uint64_t, std::uint32_t>, frame_rule>;
  std::unordered_map<std::uint32_t, std::vector<LiveStacks::MappedFile>> spaces_;
  std::unordered_map<std::uint64_t, FileRules> by_file_;  // by number of the file
  std::map<std::pair<std::string, std::string>, std::uint32_t> numbers_;
  std::map<std::uint32_t, CallerName> names_{{CALLER_UNKNOWN, {"[unknown]", "[unknown]"}}};
  std::map<std::uint32_t, Followed> stacks_seen_;  // by number of the stack
  std::uint64_t incomplete_ = 0, unlike_ = 0;
  std::string why_incomplete_;  // reason of the first incomplete stack
  std::vector<std::byte> settled_;
};

}  // namespace overdue
