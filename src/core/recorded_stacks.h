#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bpf/frame.h"
#include "core/record.h"
#include "core/stack_namer.h"

namespace overdue {

/// Of frames with their names, which stand in recordings before the stacks that use them.
extern const Schema frame_schema;

/// Makes records fit for a file: what only this machine and this moment can explain, addresses and
/// copies of user stacks, is explained now. Used by one thread.
class StackRecorder {
 public:
  /// `handler` gets every record, and those of frames before those that use them.
  StackRecorder(StackNamer& namer, RecordHandler handler)
      : namer_(namer), handler_(std::move(handler)) {}

  void record(const Record& record);

 private:
  void kernel_frames(const Record& record, std::size_t offset, std::size_t count);
  /// A record of type `Fixed`, whose user side is at `registers_at`.
  template <typename Fixed>
  void with_user_side(const Record& record, std::size_t registers_at);
  std::uint32_t id_of(const StackFrame& frame);
  void write(const StackFrame& frame, std::uint32_t id, std::uint16_t flags, std::uint64_t time_ns);

  StackNamer& namer_;
  RecordHandler handler_;
  std::set<std::pair<std::uint64_t, bool>> kernel_;      // address, whether it is a return address
  std::map<std::vector<std::byte>, std::uint32_t> ids_;  // by what is written of a frame
  std::uint64_t time_ns_ = 0;
};

/// The other way: names the stacks of a recording by the frames in it. Hostile input. Used by one
/// thread.
class RecordedStacks final : public StackNamer {
 public:
  /// Gets each user frame that was recorded without a name, once. Returns it, with a name if there
  /// is one, and before it what is inlined into it there.
  using NameLater = std::function<Stack(StackFrame)>;
  explicit RecordedStacks(NameLater name_later = nullptr) : name_later_(std::move(name_later)) {}

  /// A record of `frame_schema`.
  void frame(const Record& record);

  Stack kernel_stack(std::span<const std::uint64_t> addresses) override;
  UserStack user_stack(std::uint32_t pid, const user_registers& registers,
                       std::span<const std::byte> copy, KernelTime at) override;

 private:
  NameLater name_later_;
  std::map<std::pair<std::uint64_t, bool>, StackFrame> kernel_;
  std::unordered_map<std::uint32_t, Stack> user_;  // by id: a frame, and what is inlined into it
  std::size_t user_frames_ = 0;
};

}  // namespace overdue
