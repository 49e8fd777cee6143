#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "core/record.h"

namespace overdue {

/// Brings waits that owe a user stack (see bpf/user_stack.h) together with it. Records keep their
/// order: those behind such a wait are kept back with it, until the stack has come or, by the time
/// of the records, `patience` has passed. One thread.
class StackJoin {
 public:
  static constexpr std::uint64_t patience_ns = 1'000'000'000;
  static constexpr std::size_t most_kept = 2048;  ///< records: beyond these, no more patience
  static constexpr std::size_t most_early = 64;   ///< stacks that are read before their waits
  /// `stack` is of the wait, or null.
  using Handler = std::function<void(const Record&, const Record* stack)>;

  explicit StackJoin(Handler handler) : handler_(std::move(handler)) {}

  void record(const Record& record);
  /// All records of before `now_ns` have been given to record().
  void advance(std::uint64_t now_ns);
  /// There will be no more.
  void finish();

 private:
  struct Owned {
    const Schema* schema = nullptr;
    std::vector<std::byte> bytes;

    Owned() = default;
    explicit Owned(const Record& record)
        : schema(record.schema), bytes(record.bytes.begin(), record.bytes.end()) {}
    Record record() const { return {schema, bytes}; }
  };
  struct Kept {
    Owned record;
    Owned stack;  ///< without a schema: none yet
    bool is_waiting = false;
  };

  void stack(const Record& record);
  void release();

  Handler handler_;
  std::deque<Kept> kept_;  ///< the first is waiting
  std::deque<Owned> early_;
};

}  // namespace overdue
