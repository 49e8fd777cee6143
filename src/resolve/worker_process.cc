#include "resolve/worker_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/priority.h"
#include "base/time.h"
#include "resolve/sandbox.h"

namespace overdue {
namespace {

using namespace std::chrono_literals;

constexpr char start_command = 's', stop_command = 'k';
/// For the maker, which does nothing slow. On a busy machine, a new process waits for a CPU.
constexpr Duration patience = 5s, patience_at_start = 30s;

void reap(pid_t pid) {
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
}

/// The process that forks the workers.
class Maker {
 public:
  Maker(PacketSocket parent, const WorkerProcess::Options& options,
        const WorkerProcess::Work& prepare, const WorkerProcess::Work& work)
      : parent_(std::move(parent)), options_(options), prepare_(prepare), work_(work) {}

  void run() {
    while (true) {
      auto received = parent_.receive(1, PacketSocket::Descriptors::taken);
      end_worker();
      if (received.result != PacketSocket::Result::done) return;
      if (received.packet[0] == std::byte{start_command} && received.fd)
        start(std::move(received.fd));
      if (parent_.send(std::as_bytes(std::span(&worker_, 1))) != PacketSocket::Result::done) return;
    }
  }
  PacketSocket& parent() { return parent_; }

 private:
  void end_worker() {
    if (worker_ <= 0) return;
    kill(worker_, SIGKILL);
    reap(worker_);
    worker_ = 0;
  }
  void start(Fd connection) {
    const pid_t maker = getpid();
    worker_ = fork();
    if (worker_ == 0) be_worker(std::move(connection), maker);
  }
  [[noreturn]] void be_worker(Fd connection, pid_t maker) {
    try {
      sandbox::leave_surroundings(connection);
      parent_.release();
      PacketSocket client(std::move(connection));
      sandbox::end_with(maker);
      sandbox::set_limits(options_.memory_bytes, options_.files);
      prepare_(client);
      sandbox::forbid_system_calls();
      work_(client);
    } catch (const std::exception&) {  // the parent sees the connection close
      _exit(1);
    }
    _exit(0);
  }

  PacketSocket parent_;
  const WorkerProcess::Options& options_;
  const WorkerProcess::Work& prepare_;
  const WorkerProcess::Work& work_;
  pid_t worker_ = 0;
};

}  // namespace

WorkerProcess::WorkerProcess(const Options& options, const Work& prepare, const Work& work) {
  auto [ours, theirs] = PacketSocket::make_pair();
  const pid_t parent = getpid();
  KernelClock::now();  // the first call reads /proc, which must not happen in the child
  maker_pid_ = check_errno(fork(), "cannot start the resolver");
  if (maker_pid_ == 0) {
    drop_raised_priority();
    std::array<char, 256> error{};
    Fd connection(theirs.release());
    try {
      sandbox::leave_surroundings(connection);
      ours.release();
      sandbox::drop_privileges();
      sandbox::end_with(parent);
    } catch (const std::exception& failure) {
      std::strncpy(error.data(), failure.what(), error.size() - 1);
    }
    try {
      Maker maker(PacketSocket(std::move(connection)), options, prepare, work);
      maker.parent().send(std::as_bytes(std::span(error)));
      if (error[0] == '\0') maker.run();
    } catch (const std::exception&) {
      _exit(1);
    }
    _exit(0);
  }
  theirs.reset();
  maker_ = std::move(ours);
  const auto ready = maker_.receive(256, PacketSocket::Descriptors::refused,
                                    KernelClock::now() + patience_at_start);
  const auto* text = reinterpret_cast<const char*>(ready.packet.data());
  const bool is_ready = ready.result == PacketSocket::Result::done && text[0] == '\0';
  if (is_ready) return;
  const std::string why = ready.result == PacketSocket::Result::done
                              ? std::string(text, strnlen(text, ready.packet.size()))
                          : ready.result == PacketSocket::Result::timed_out
                              ? fmt::format("cannot start the resolver: it was not ready within {}",
                                            format_duration(patience_at_start))
                              : "cannot start the resolver: it ended at once";
  kill(maker_pid_, SIGKILL);
  reap(maker_pid_);
  throw Error("{}", why);
}

WorkerProcess::~WorkerProcess() {
  stop();
  maker_.reset();
  kill(maker_pid_, SIGKILL);
  reap(maker_pid_);
}

bool WorkerProcess::command(char what, const Fd& attached, pid_t& worker) {
  const KernelTime deadline = KernelClock::now() + patience;
  if (!maker_) return false;
  const bool is_sent = maker_.send(std::as_bytes(std::span(&what, 1)), attached, deadline) ==
                       PacketSocket::Result::done;
  const auto answer =
      is_sent ? maker_.receive(sizeof worker, PacketSocket::Descriptors::refused, deadline)
              : PacketSocket::Received();
  if (answer.packet.size() != sizeof worker) {
    maker_.reset();  // the maker is gone, and its worker with it
    return false;
  }
  std::memcpy(&worker, answer.packet.data(), sizeof worker);
  return true;
}

PacketSocket WorkerProcess::start() {
  auto [ours, theirs] = PacketSocket::make_pair();
  worker_pid_ = 0;
  if (!command(start_command, theirs.fd(), worker_pid_) || worker_pid_ <= 0) return {};
  return std::move(ours);
}

void WorkerProcess::stop() {
  if (worker_pid_ > 0) command(stop_command, {}, worker_pid_);
  worker_pid_ = 0;
}

}  // namespace overdue
