// Any bytes, as packets between a resolver and its child, in both directions: no crash, no content
// beyond a packet's capacity, only printable text from the child. A decoded message keeps its
// meaning when it is encoded and decoded again.

#include <cstdint>
#include <cstdlib>
#include <span>
#include <variant>

#include "base/text.h"
#include "resolve/message.h"

namespace overdue {
namespace {

namespace message = resolve_message;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_text(const std::string& text) {
  require(text.size() <= message::longest_text + 4);
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = printable_length(rest);
    require(length > 0);
    rest.remove_prefix(length);
  }
}

void check(const message::Wanted& wanted) {
  const auto again = message::decode_to_parent(message::encode(wanted));
  require(again && std::get<message::Wanted>(*again).path == wanted.path.substr(0, 16u << 10));
}

void check(const message::Frames& frames) {
  require(frames.stack.frames.size() <= message::max_frames);
  for (const StackFrame& frame : frames.stack.frames)
    for (const auto* text : {&frame.name, &frame.module, &frame.build_id, &frame.file})
      check_text(*text);
  check_text(frames.stack.end_module);
  ResolvedStack whole;
  for (const auto& packet : message::encode(frames.stack)) {
    require(packet.size() <= message::max_bytes);
    const auto again = message::decode_to_parent(packet);
    require(again.has_value());
    const auto& part = std::get<message::Frames>(*again).stack;
    whole.frames.insert(whole.frames.end(), part.frames.begin(), part.frames.end());
  }
  require(whole.frames.size() == frames.stack.frames.size());
}

void check(const message::Space& space) {
  for (const Mapping& mapping : space.mappings) require(mapping.start < mapping.end);
  const auto again = message::decode_to_child(message::encode(space));
  require(again && std::get<message::Space>(*again).mappings.size() <= space.mappings.size());
}
void check(const message::UserStack&) {}
void check(const message::RecordedStack& stack) {
  require(stack.addresses.size() <= message::max_bytes);
}
void check(const message::File&) {}
void check(const message::PythonOf& wanted) {
  const auto again = message::decode_to_child(message::encode(wanted));
  require(again && std::get<message::PythonOf>(*again).space == wanted.space);
}
void check(const message::Python& python) {
  require(python.support <= last_python_support);
  const auto packet = message::encode(python);
  const auto again = message::decode_to_parent(packet);
  require(again && message::encode(std::get<message::Python>(*again)) == packet);
}
void check(const message::JavaThreadsOf& wanted) {
  require(wanted.cut.size() <= message::max_threads);
  const auto again = message::decode_to_child(message::encode(wanted));
  require(again && std::get<message::JavaThreadsOf>(*again).cut == wanted.cut);
}
void check(const message::JavaThreads& threads) {
  const auto packet = message::encode(threads);
  require(packet.size() <= message::max_bytes);
  const auto again = message::decode_to_parent(packet);
  require(again && std::get<message::JavaThreads>(*again).named == threads.named);
}
void check(const message::Probe&) {}

}  // namespace
}  // namespace overdue

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto packet = std::as_bytes(std::span(data, size));
  if (const auto parsed = overdue::resolve_message::decode_to_child(packet))
    std::visit([](const auto& one) { overdue::check(one); }, *parsed);
  if (const auto parsed = overdue::resolve_message::decode_to_parent(packet))
    std::visit([](const auto& one) { overdue::check(one); }, *parsed);
  return 0;
}
