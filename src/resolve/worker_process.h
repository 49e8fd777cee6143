#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <utility>

#include "resolve/packet_socket.h"

namespace overdue {

/// Makes processes in a sandbox, one at a time. They are forked by a small process that was forked
/// from us when this was made, and gave up all privileges then: so they never see what we have
/// opened, mapped or read since. All of them end with us, however we end; more precisely with the
/// thread that made this. Make it early, before rings and BPF maps are mapped, best while there is
/// one thread.
class WorkerProcess {
 public:
  struct Options {
    std::size_t memory_bytes = std::size_t{2} << 30;  ///< address space of a worker
    std::size_t files = 1024;
  };
  /// What a worker does; it ends when this returns or throws.
  using Work = std::function<void(PacketSocket&)>;

  /// Throws Error where the sandbox cannot be had. `prepare` is called before system calls are
  /// forbidden.
  WorkerProcess(const Options& options, const Work& prepare, const Work& work);
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  ~WorkerProcess();

  /// A connection to a new worker; the one before is killed. Empty where that did not work.
  PacketSocket start();
  /// Kills the worker, if there is one.
  void stop();

  /// Of start() and stop(): see PacketSocket.
  void while_waiting(std::function<void()> meanwhile) {
    maker_.while_waiting(std::move(meanwhile));
  }

  /// 0 if there is none.
  pid_t worker_pid() const { return worker_pid_; }
  pid_t maker_pid() const { return maker_pid_; }

 private:
  bool command(char what, const Fd& attached, pid_t& worker);

  pid_t maker_pid_ = 0;
  pid_t worker_pid_ = 0;
  PacketSocket maker_;
};

}  // namespace overdue
