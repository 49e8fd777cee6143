#include "resolve/worker.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <list>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "resolve/message.h"
#include "symbols/file_bytes.h"

namespace overdue {
namespace {

namespace message = resolve_message;
using Wanted = message::Wanted;

constexpr std::size_t max_open_files = 512;
constexpr std::uint64_t longest_vdso = 1u << 20;
constexpr timeval idle_after{.tv_sec = 1, .tv_usec = 0};

class Wrong : public Error {
 public:
  Wrong() : Error("the connection of the resolver is not what it should be") {}
};

/// Files that the parent opens. They stay open while stacks come, because each change of a
/// process's mappings needs the same files again.
class FilesOfParent : public FileSource {
 public:
  explicit FilesOfParent(PacketSocket& parent) : parent_(parent) {}

  void set_pid(std::uint32_t pid) { pid_ = pid; }
  void close_all() {
    by_key_.clear();
    order_.clear();
  }

  Fd mapped_file(const Mapping& mapping) override {
    Key key(pid_, mapping.device_major, mapping.device_minor, mapping.inode,
            std::string(mapping.path));
    if (const auto known = by_key_.find(key); known != by_key_.end()) {
      order_.splice(order_.begin(), order_, known->second);
      return known->second->fd.duplicate();
    }
    Fd fd = ask({.what = Wanted::What::mapped_file, .mapping = mapping.start}).fd;
    if (!fd) return {};
    Fd ours = fd.duplicate();
    order_.push_front({key, std::move(fd)});
    by_key_.emplace(std::move(key), order_.begin());
    if (order_.size() > max_open_files) {
      by_key_.erase(order_.back().key);
      order_.pop_back();
    }
    return ours;
  }
  Fd debug_file(const std::string& path) override {
    return ask({.what = Wanted::What::debug_file, .path = path}).fd;
  }
  std::vector<std::byte> vdso(const Mapping& mapping) override {
    const FileBytes file(ask({.what = Wanted::What::vdso, .mapping = mapping.start}).fd);
    return file.read(0, file.size(), longest_vdso).value_or(std::vector<std::byte>());
  }
  PerfMap::File perf_map() override { return ask({.what = Wanted::What::perf_map}); }
  Fd memory() override { return ask({.what = Wanted::What::memory}).fd; }

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint64_t, std::string>;
  struct Open {
    Key key;
    Fd fd;
  };

  PerfMap::File ask(const Wanted& wanted) {
    if (parent_.send(message::encode(wanted)) != PacketSocket::Result::done) throw Wrong();
    while (true) {
      auto received = parent_.receive(message::max_bytes, PacketSocket::Descriptors::taken);
      if (received.result == PacketSocket::Result::timed_out) continue;
      if (received.result == PacketSocket::Result::closed) throw Wrong();
      const auto answer = message::decode_to_child(received.packet);
      const auto* file = answer ? std::get_if<message::File>(&*answer) : nullptr;
      if (!file || file->is_there != static_cast<bool>(received.fd)) throw Wrong();
      return {.fd = std::move(received.fd), .owner = file->owner, .refused = {}};
    }
  }

  PacketSocket& parent_;
  std::uint32_t pid_ = 0;
  std::list<Open> order_;  // used last in front
  std::map<Key, std::list<Open>::iterator> by_key_;
};

class Worker {
 public:
  Worker(PacketSocket& parent, const StackReader::Options& options,
         const std::function<void(std::uint32_t)>& probe)
      : parent_(parent), files_(parent), reader_(options, files_), probe_(probe) {}

  void serve() {
    while (true) {
      const auto received = parent_.receive(message::max_bytes, PacketSocket::Descriptors::refused);
      if (received.result == PacketSocket::Result::closed) return;
      if (received.result == PacketSocket::Result::timed_out) {
        files_.close_all();  // so that no file system is kept from being unmounted
        continue;
      }
      // The stack's bytes are views of the packet, and requests for files receive other packets.
      packet_.assign(received.packet.begin(), received.packet.end());
      const auto request = message::decode_to_child(packet_);
      if (!request) throw Wrong();
      std::visit([&](const auto& one) { handle(one); }, *request);
    }
  }

 private:
  void handle(const message::Space& space) {
    if (space.id != coming_id_) coming_ = {};
    coming_id_ = space.id;
    for (const Mapping& mapping : space.mappings) coming_.add(mapping);
    if (!space.is_last) return;
    reader_.add_space(space.id, coming_);
    if (pids_.size() > max_pids) pids_.clear();
    pids_[space.id] = space.pid;
    coming_ = {};
  }
  void handle(const message::UserStack& request) {
    if (!use(request.space)) return;
    answer(reader_.user_stack(request.space, request.registers, request.copy));
  }
  void handle(const message::RecordedStack& request) {
    if (!use(request.space)) return;
    answer(reader_.recorded_stack(request.space, request.addresses));
  }
  void handle(const message::PythonOf& request) {
    if (!use(request.space)) return;
    const FoundPython found = reader_.python_of(request.space);
    send(message::encode(
        message::Python{.support = found.support, .runtime = found.layout.runtime}));
  }
  void handle(const message::JavaThreadsOf& request) {
    if (!use(request.space)) return;
    send(message::encode(
        message::JavaThreads{.named = reader_.java_threads_of(request.space, request.cut)}));
  }
  void handle(const message::File&) { throw Wrong(); }
  void handle(const message::Probe& request) {
    if (!probe_) throw Wrong();
    probe_(request.what);
    answer(ResolvedStack());
  }

  bool use(std::uint64_t space) {
    const auto pid = pids_.find(space);
    if (pid == pids_.end() || !reader_.has_space(space)) {
      answer(std::nullopt);
      return false;
    }
    files_.set_pid(pid->second);
    return true;
  }
  void answer(const std::optional<ResolvedStack>& stack) {
    if (!stack) return send(message::encode_unknown_space());
    for (const auto& packet : message::encode(*stack)) send(packet);
  }
  void send(std::span<const std::byte> packet) {
    if (parent_.send(packet) != PacketSocket::Result::done) throw Wrong();
  }

  static constexpr std::size_t max_pids = 1u << 16;

  PacketSocket& parent_;
  FilesOfParent files_;
  StackReader reader_;
  const std::function<void(std::uint32_t)>& probe_;
  std::vector<std::byte> packet_;
  std::uint64_t coming_id_ = 0;
  ProcessMaps coming_;
  std::map<std::uint64_t, std::uint32_t> pids_;  // by space
};

}  // namespace

void set_idle_timeout(const PacketSocket& parent) {
  setsockopt(parent.fd().get(), SOL_SOCKET, SO_RCVTIMEO, &idle_after, sizeof idle_after);
}

void serve_stacks(PacketSocket& parent, const StackReader::Options& options,
                  const std::function<void(std::uint32_t)>& probe) {
  Worker(parent, options, probe).serve();
}

}  // namespace overdue
