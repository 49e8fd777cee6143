#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <utility>

#include "resolve/packet_socket.h"

namespace overdue {

/// Starts sandboxed processes (workers), one at a time. A small process, the maker, forks them. It
/// was itself forked from Overdue when this object was created, and gave up all privileges then, so
/// workers never see what Overdue has opened, mapped or read since. Maker and workers end with the
/// thread that created this object, however it ends. Create it early, before rings and BPF maps are
/// mapped, best while there is one thread.
class WorkerProcess {
 public:
  struct Options {
    std::size_t memory_bytes = std::size_t{2} << 30;  ///< address space of a worker
    std::size_t files = 1024;
  };
  /// The work of a worker, which ends when the function returns or throws.
  using Work = std::function<void(PacketSocket&)>;

  /// Throws Error if the sandbox is unavailable. A worker calls `prepare` before system calls are
  /// forbidden.
  WorkerProcess(const Options& options, const Work& prepare, const Work& work);
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  ~WorkerProcess();

  /// A connection to a new worker; kills the previous worker. Empty on failure.
  PacketSocket start();
  /// Kills the worker, if there is one.
  void stop();

  /// Applies to start() and stop(); see PacketSocket::while_waiting().
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
