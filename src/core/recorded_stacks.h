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

/// The schema of resolved frames. In a recording, a frame precedes the stacks that refer to it.
extern const Schema frame_schema;

/// Makes records fit for a file: resolves addresses and copies of user stacks, which only this
/// machine can resolve, and only now. One thread.
class StackRecorder {
 public:
  /// `handler` gets every record, and new frames before the record that refers to them.
  StackRecorder(StackNamer& namer, RecordHandler handler)
      : namer_(namer), handler_(std::move(handler)) {}

  void record(const Record& record);

 private:
  void kernel_frames(const Record& record, std::size_t offset, std::size_t count);
  /// A record of type `Fixed` with user registers and stack at `registers_at`.
  template <typename Fixed>
  void with_user_side(const Record& record, std::size_t registers_at);
  std::uint32_t id_of(const StackFrame& frame);
  void write(const StackFrame& frame, std::uint32_t id, std::uint16_t flags, std::uint64_t time_ns);

  StackNamer& namer_;
  RecordHandler handler_;
  std::set<std::pair<std::uint64_t, bool>> kernel_;      // address, whether it is a return address
  std::map<std::vector<std::byte>, std::uint32_t> ids_;  // by the written bytes of a frame
  std::uint64_t time_ns_ = 0;
};

/// The reverse of StackRecorder: resolves the stacks of a recording with the frames in it. Input is
/// hostile. One thread.
class RecordedStacks final : public StackNamer {
 public:
  /// Called once for each user frame that was recorded without a name. Returns the frame, resolved
  /// if possible, after the frames inlined into it.
  using NameLater = std::function<Stack(StackFrame)>;
  explicit RecordedStacks(NameLater name_later = nullptr) : name_later_(std::move(name_later)) {}

  /// Adds a record of `frame_schema`.
  void frame(const Record& record);

  Stack kernel_stack(std::span<const std::uint64_t> addresses) override;
  UserStack user_stack(std::uint32_t pid, const user_registers& registers, const UserCopy& copy,
                       KernelTime at) override;

 private:
  NameLater name_later_;
  std::map<std::pair<std::uint64_t, bool>, StackFrame> kernel_;
  std::unordered_map<std::uint32_t, Stack> user_;  // by id: a frame, with frames inlined into it
  std::size_t user_frames_ = 0;
};

}  // namespace overdue
