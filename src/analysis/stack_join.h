#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "core/record.h"

namespace overdue {

/// Joins waits with their deferred user stacks (see bpf/user_stack.h). Records keep their order: a
/// wait without its stack, and all records after the wait, are held back until the stack has come,
/// or until `patience_ns` have passed by the time of the records. Used by one thread.
class StackJoin {
 public:
  static constexpr std::uint64_t patience_ns = 1'000'000'000;
  static constexpr std::size_t max_kept = 2048;  ///< largest number of records held back
  static constexpr std::size_t max_early = 64;   ///< stacks kept that are read before their waits
  /// `stack` is the user stack of the wait, or null.
  using Handler = std::function<void(const Record&, const Record* stack)>;

  explicit StackJoin(Handler handler) : handler_(std::move(handler)) {}

  void record(const Record& record);
  /// Says that record() has had all records from before `now_ns`.
  void advance(std::uint64_t now_ns);
  /// Releases all records: no more will come.
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
    Owned stack;  ///< the wait's user stack; without a schema: none yet
    bool is_waiting = false;
  };

  void stack(const Record& record);
  void release();

  Handler handler_;
  std::deque<Kept> kept_;  ///< records held back; the first is a wait without its stack
  std::deque<Owned> early_;
};

}  // namespace overdue
