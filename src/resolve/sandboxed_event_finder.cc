#include "resolve/sandboxed_event_finder.h"

#include <algorithm>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "resolve/packet.h"

namespace overdue {
namespace {

using Result = PacketSocket::Result;

constexpr std::size_t max_bytes = 64u << 10;
constexpr std::size_t max_reported_functions = 1024;  // more than one is ambiguous anyway
constexpr std::size_t max_reported_sites = 4096;

enum class Sought : std::uint8_t { function = 1, usdt };

class Gone : public Error {
 public:
  Gone() : Error("the process that reads the file has ended") {}
};

// The child's answers are as hostile as the file that it reads.

std::vector<std::byte> encode(const FunctionPlaces& places) {
  PacketWriter writer;
  writer.put(places.is_elf);
  writer.put(places.has_names);
  writer.put_text(places.nearest);
  for (std::size_t i = 0; i < std::min(places.offsets.size(), max_reported_functions); ++i)
    writer.put(places.offsets[i]);
  return writer.take();
}

/// True once the answer is complete.
bool take(std::span<const std::byte> packet, FunctionPlaces& places) {
  PacketReader reader(packet);
  places.is_elf = reader.get_flag();
  places.has_names = reader.get_flag();
  places.nearest = reader.get_text();
  while (reader.is_good() && !reader.is_at_end())
    places.offsets.push_back(reader.get<std::uint64_t>());
  if (!reader.is_whole() || places.offsets.size() > max_reported_functions) throw Gone();
  return true;
}

std::vector<std::byte> encode(const EventSite& site) {
  PacketWriter writer;
  writer.put(false);
  writer.put(site.offset);
  writer.put(site.semaphore);
  writer.put_text(site.arguments);
  return writer.take();
}

std::vector<std::byte> encode_end(const UsdtPlaces& places) {
  PacketWriter writer;
  writer.put(true);
  writer.put_text(places.others);
  return writer.take();
}

bool take(std::span<const std::byte> packet, UsdtPlaces& places) {
  PacketReader reader(packet);
  const bool is_last = reader.get_flag();
  if (is_last) {
    places.others = reader.get_text();
  } else {
    EventSite site{.offset = reader.get<std::uint64_t>(),
                   .semaphore = reader.get<std::uint64_t>(),
                   .arguments = std::string(reader.get_text())};
    places.sites.push_back(std::move(site));
  }
  if (!reader.is_whole() || places.sites.size() > max_reported_sites) throw Gone();
  return is_last;
}

/// Runs in the child.
void serve(PacketSocket& parent) {
  const auto send = [&](std::span<const std::byte> packet) {
    if (parent.send(packet) != Result::done) throw Gone();
  };
  auto received = parent.receive(max_bytes, PacketSocket::Descriptors::taken);
  if (received.result != Result::done || !received.fd) throw Gone();
  PacketReader reader(received.packet);
  const auto sought = reader.get<Sought>();
  const std::string provider(reader.get_text()), name(reader.get_text());
  const FileBytes file(std::move(received.fd));
  if (sought == Sought::function) return send(encode(find_function(file, name)));
  const UsdtPlaces places = find_usdt(file, provider, name);
  for (const EventSite& site : places.sites) send(encode(site));
  send(encode_end(places));
}

}  // namespace

SandboxedEventFinder::SandboxedEventFinder(const Options& options)
    : EventFinder(options.open),
      patience_(options.patience),
      worker_(
          options.worker, [](PacketSocket&) {},
          [probe = options.probe](PacketSocket& parent) {
            if (probe) probe();
            serve(parent);
          }) {}

template <typename Answer>
Answer SandboxedEventFinder::ask(const Fd& file, std::string_view provider, std::string_view name) {
  PacketWriter request;
  request.put(std::is_same_v<Answer, UsdtPlaces> ? Sought::usdt : Sought::function);
  request.put_text(provider);
  request.put_text(name);
  const KernelTime deadline = KernelClock::now() + patience_;
  // One child per file, so that a hostile file affects no other.
  PacketSocket child = worker_.start();
  if (!child || child.send(request.take(), file, deadline) != Result::done) throw Gone();
  Answer answer;
  while (true) {
    const auto received = child.receive(max_bytes, PacketSocket::Descriptors::refused, deadline);
    if (received.result == Result::timed_out)
      throw Error("the process that reads the file did not answer in {}",
                  format_duration(patience_));
    if (received.result != Result::done) throw Gone();
    if (take(received.packet, answer)) break;
  }
  worker_.stop();
  return answer;
}

FunctionPlaces SandboxedEventFinder::function(const Fd& file, std::string_view name) {
  return ask<FunctionPlaces>(file, {}, name);
}

UsdtPlaces SandboxedEventFinder::usdt(const Fd& file, std::string_view provider,
                                      std::string_view name) {
  return ask<UsdtPlaces>(file, provider, name);
}

}  // namespace overdue
