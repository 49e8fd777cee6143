#include "core/recorded_stacks.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "base/text.h"
#include "bpf/app_timer.h"
#include "bpf/profile.h"
#include "bpf/sched.h"
#include "bpf/span.h"
#include "bpf/span_sums.h"
#include "bpf/timerlat.h"
#include "bpf/user_stack.h"
#include "bpf/worst.h"
#include "core/span_kinds.h"

namespace overdue {
namespace {

constexpr std::size_t max_frames = 1u << 20;  // limit of frames that a reader keeps

constexpr Field frame_fields[] = {
    OVERDUE_FIELD(frame_record, address, opaque, value, "its address"),
    OVERDUE_FIELD(frame_record, offset, none, value,
                  "into the named function; without a name into the module"),
    OVERDUE_FIELD(frame_record, id, none, key, "by which user stacks name it; 0: of the kernel"),
    OVERDUE_FIELD(frame_record, line, none, value, "of its source; 0: not known"),
    OVERDUE_FIELD(
        frame_record, flags, opaque, value,
        "1: kernel; 2: a return address; 4: inlined; 8: by a perf map; 16: found by frame "
        "pointers; 32: a signal's trampoline; 64: frames may be missing before it"),
    OVERDUE_FIELD(frame_record, name_bytes, bytes, value, "of the name behind the record"),
    OVERDUE_FIELD(frame_record, module_bytes, bytes, value, "of the module's name behind that"),
    OVERDUE_FIELD(frame_record, build_id_bytes, bytes, value, "of the build id behind that"),
    OVERDUE_FIELD(frame_record, file_bytes, bytes, value, "of the source's name behind that"),
};

void append(std::vector<std::byte>& bytes, std::span<const std::byte> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

std::string_view bounded(std::string_view text) {
  return text.substr(0, FRAME_TEXT_MAX);
}

/// Removes a text of `size` bytes from the front of `bytes`, and returns it.
std::string take_text(std::span<const std::byte>& bytes, std::size_t size) {
  const std::size_t length = std::min({size, bytes.size(), std::size_t{FRAME_TEXT_MAX}});
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), length);
  bytes = bytes.subspan(length);
  return made_printable(text, FRAME_TEXT_MAX);
}

StackFrame frame_of(const Record& record) {
  const auto fixed = record.as<frame_record>();
  auto rest = record.bytes.subspan(std::min(sizeof fixed, record.bytes.size()));
  StackFrame frame{.address = fixed.address};
  frame.name = take_text(rest, fixed.name_bytes);
  frame.module = take_text(rest, fixed.module_bytes);
  frame.offset = fixed.offset;
  frame.build_id = take_text(rest, fixed.build_id_bytes);
  frame.file = take_text(rest, fixed.file_bytes);
  frame.line = fixed.line;
  frame.is_inlined = fixed.flags & FRAME_INLINED;
  frame.is_kernel = fixed.flags & FRAME_KERNEL;
  frame.is_jit = fixed.flags & FRAME_JIT;
  frame.is_guessed = fixed.flags & FRAME_GUESSED;
  frame.is_signal = fixed.flags & FRAME_SIGNAL;
  frame.follows_gap = fixed.flags & FRAME_FOLLOWS_GAP;
  return frame;
}

void visit_frame(const Record& record, const Names&, FieldVisitor& visitor) {
  const StackFrame frame = frame_of(record);
  visitor.number("id", record.as<frame_record>().id, Unit::none);
  visitor.text("name", to_text(frame));
  visitor.text("module", frame.module);
}

std::uint16_t flags_of(const StackFrame& frame) {
  unsigned flags = 0;
  if (frame.is_kernel) flags |= FRAME_KERNEL;
  if (frame.is_inlined) flags |= FRAME_INLINED;
  if (frame.is_jit) flags |= FRAME_JIT;
  if (frame.is_guessed) flags |= FRAME_GUESSED;
  if (frame.is_signal) flags |= FRAME_SIGNAL;
  if (frame.follows_gap) flags |= FRAME_FOLLOWS_GAP;
  return static_cast<std::uint16_t>(flags);
}

/// The bytes of a frame record, without the header and the id.
std::vector<std::byte> content_of(const StackFrame& frame, std::uint16_t flags) {
  const std::string_view texts[] = {bounded(frame.name), bounded(frame.module),
                                    bounded(frame.build_id), bounded(frame.file)};
  frame_record fixed{};
  fixed.address = frame.address;
  fixed.offset = frame.offset;
  fixed.line = frame.line;
  fixed.flags = flags;
  fixed.name_bytes = static_cast<u16>(texts[0].size());
  fixed.module_bytes = static_cast<u16>(texts[1].size());
  fixed.build_id_bytes = static_cast<u16>(texts[2].size());
  fixed.file_bytes = static_cast<u16>(texts[3].size());
  std::vector<std::byte> bytes;
  append(bytes, std::as_bytes(std::span(&fixed, 1)));
  for (const std::string_view text : texts) append(bytes, std::as_bytes(std::span(text)));
  return bytes;
}

std::vector<std::uint64_t> addresses_at(const Record& record, std::size_t offset,
                                        std::size_t count) {
  if (record.bytes.size() < offset) return {};
  std::vector<std::uint64_t> addresses(std::min(count, (record.bytes.size() - offset) / 8));
  if (!addresses.empty())
    std::memcpy(addresses.data(), record.bytes.data() + offset, 8 * addresses.size());
  return addresses;
}

bool is_of_function(std::uint16_t span) {
  const SpanKind* kind = span_kind_of(span);
  return kind && kind->is_of_function;
}

}  // namespace

const Schema frame_schema{.id = RECORD_FRAME,
                          .name = "frame",
                          .size = sizeof(frame_record),
                          .fields = frame_fields,
                          .help = "a frame that stacks of a recording have, with its name",
                          .visit = visit_frame};

void StackRecorder::record(const Record& record) {
  time_ns_ = record.header().time_ns;
  switch (record.schema->id) {
    case RECORD_SCHED_WAIT:
      kernel_frames(record, sizeof(sched_wait), record.as<sched_wait>().kernel_frames);
      break;
    case RECORD_SCHED_WAKE:
      kernel_frames(record, sizeof(sched_wake), record.as<sched_wake>().kernel_frames);
      break;
    case RECORD_SPAN:
      if (is_of_function(record.at<u16>(offsetof(span_record, span))))
        kernel_frames(record, offsetof(span_record, subject), 1);
      kernel_frames(record, sizeof(span_record), record.as<span_record>().kernel_frames);
      return with_user_side<span_record>(
          record, sizeof(span_record) + std::size_t{8} * record.as<span_record>().kernel_frames);
    case RECORD_SPAN_SUM:
      if (is_of_function(record.at<u16>(offsetof(span_sum, span))))
        kernel_frames(record, offsetof(span_sum, subject), 1);
      break;
    case RECORD_CPU_SAMPLE:
      kernel_frames(record, offsetof(cpu_sample, kernel),
                    std::min<std::size_t>(record.as<cpu_sample>().kernel_frames, SAMPLE_FRAMES));
      return with_user_side<cpu_sample>(record, sizeof(cpu_sample));
    case RECORD_PROFILE_SAMPLE: {
      const std::size_t frames = record.as<profile_sample>().kernel_frames;
      kernel_frames(record, sizeof(profile_sample), frames);
      return with_user_side<profile_sample>(record, sizeof(profile_sample) + 8 * frames);
    }
    case RECORD_TIMERLAT: {
      const auto activation = record.as<timerlat_activation>();
      kernel_frames(record, sizeof activation + activation.noises * sizeof(timerlat_noise),
                    activation.kernel_frames);
      break;
    }
    case RECORD_APP_TIMER:
      kernel_frames(record, offsetof(app_timer, function), 1);
      kernel_frames(record, sizeof(app_timer), record.as<app_timer>().kernel_frames);
      break;
    case RECORD_WORST_WINDOW: {
      const auto window = record.as<worst_window>();
      kernel_frames(record, sizeof window, window.waking_frames);
      kernel_frames(record, sizeof window + std::size_t{8} * window.waking_frames,
                    window.end_frames);
      break;
    }
    case RECORD_WAIT_STACK:
      return with_user_side<wait_stack>(record, sizeof(wait_stack));
    default:
      break;
  }
  handler_(record);
}

void StackRecorder::kernel_frames(const Record& record, std::size_t offset, std::size_t count) {
  const std::vector<std::uint64_t> addresses = addresses_at(record, offset, count);
  const auto is_new = [&](std::size_t i) { return !kernel_.contains({addresses[i], i > 0}); };
  bool any = false;
  for (std::size_t i = 0; i < addresses.size(); ++i) any = any || is_new(i);
  if (!any) return;
  const Stack stack = namer_.kernel_stack(addresses);
  for (std::size_t i = 0; i < std::min(stack.size(), addresses.size()); ++i) {
    if (!kernel_.insert({addresses[i], i > 0}).second) continue;
    StackFrame frame = stack[i];
    frame.address = addresses[i];
    frame.is_kernel = true;
    write(
        frame, 0,
        static_cast<std::uint16_t>(flags_of(frame) | (i > 0 ? unsigned{FRAME_RETURN_ADDRESS} : 0)),
        time_ns_);
  }
}

void StackRecorder::write(const StackFrame& frame, std::uint32_t id, std::uint16_t flags,
                          std::uint64_t time_ns) {
  std::vector<std::byte> bytes = content_of(frame, flags);
  frame_record fixed{};
  std::memcpy(&fixed, bytes.data(), sizeof fixed);
  fixed.header.time_ns = time_ns;
  fixed.header.kind = RECORD_FRAME;
  fixed.header.size = static_cast<u16>(bytes.size());
  fixed.id = id;
  std::memcpy(bytes.data(), &fixed, sizeof fixed);
  handler_(Record{&frame_schema, bytes});
}

std::uint32_t StackRecorder::id_of(const StackFrame& frame) {
  const std::uint16_t flags = flags_of(frame);
  const auto [found, is_new] = ids_.try_emplace(content_of(frame, flags), ids_.size() + 1);
  if (is_new) write(frame, found->second, flags, time_ns_);
  return found->second;
}

template <typename Fixed>
void StackRecorder::with_user_side(const Record& record, std::size_t registers_at) {
  auto fixed = record.as<Fixed>();
  const std::size_t copy_at = registers_at + sizeof(user_registers);
  if (!(fixed.flags & SPAN_HAS_USER_STACK) || fixed.flags & SPAN_STACK_NAMED ||
      record.bytes.size() < copy_at)
    return handler_(record);
  const UserCopy copy = user_copy_at(record.bytes, copy_at, fixed.flags, fixed.user_bytes);
  const StackNamer::UserStack stack =
      namer_.user_stack(fixed.header.pid, record.at<user_registers>(registers_at), copy,
                        KernelTime(Duration(fixed.header.time_ns)));
  std::vector<std::uint32_t> words{static_cast<std::uint32_t>(stack.frames.size())};
  for (const StackFrame& frame : stack.frames) words.push_back(id_of(frame));
  std::vector<std::byte> bytes(record.bytes.begin(),
                               record.bytes.begin() + static_cast<std::ptrdiff_t>(registers_at));
  append(bytes, std::as_bytes(std::span(words)));
  append(bytes, std::as_bytes(std::span(bounded(stack.end))));
  fixed.flags = static_cast<u16>((fixed.flags | SPAN_STACK_NAMED) & ~SPAN_HAS_PYTHON);
  fixed.user_bytes = static_cast<u16>(bytes.size() - registers_at);
  fixed.header.size = static_cast<u16>(bytes.size());
  std::memcpy(bytes.data(), &fixed, sizeof fixed);
  handler_(Record{record.schema, bytes});
}

void RecordedStacks::frame(const Record& record) {
  if (kernel_.size() + user_frames_ >= max_frames) return;
  const auto fixed = record.as<frame_record>();
  StackFrame frame = frame_of(record);
  if (frame.is_kernel) {
    kernel_[{fixed.address, (fixed.flags & FRAME_RETURN_ADDRESS) != 0}] = std::move(frame);
    return;
  }
  Stack& kept = user_[fixed.id];
  user_frames_ -= kept.size();
  kept =
      frame.name.empty() && name_later_ ? name_later_(std::move(frame)) : Stack{std::move(frame)};
  user_frames_ += kept.size();
}

Stack RecordedStacks::kernel_stack(std::span<const std::uint64_t> addresses) {
  Stack stack;
  for (const std::uint64_t address : addresses) {
    const auto found = kernel_.find({address, !stack.empty()});
    stack.push_back(
        found != kernel_.end()
            ? found->second
            : StackFrame{
                  .address = address, .module = "[kernel]", .offset = address, .is_kernel = true});
  }
  return stack;
}

StackNamer::UserStack RecordedStacks::user_stack(std::uint32_t, const user_registers&,
                                                 const UserCopy& from, KernelTime) {
  UserStack stack;
  std::span<const std::byte> copy = from.stack;
  named_stack fixed{};
  if (copy.size() < sizeof fixed) return stack;
  std::memcpy(&fixed, copy.data(), sizeof fixed);
  copy = copy.subspan(sizeof fixed);
  const std::size_t frames = std::min<std::size_t>(fixed.frames, copy.size() / 4);
  for (std::size_t i = 0; i < frames; ++i) {
    std::uint32_t id = 0;
    std::memcpy(&id, copy.data() + 4 * i, sizeof id);
    const auto found = user_.find(id);
    if (found == user_.end())
      stack.frames.emplace_back();
    else
      stack.frames.insert(stack.frames.end(), found->second.begin(), found->second.end());
  }
  copy = copy.subspan(4 * frames);
  stack.end = take_text(copy, copy.size());
  return stack;
}

}  // namespace overdue
