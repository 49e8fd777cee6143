#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace overdue {

class TracingSettings;

/// A private tracing instance, with buffers, tracer, events and options of its own, in
/// `instances/overdue-PID-START`. The destructor removes it. If this process is killed, a child,
/// the guardian, removes it; if both are killed, the next Overdue that makes an instance does. One
/// thread.
class TracingInstance {
 public:
  /// Throws Error if the kernel refuses. This process must be in the initial PID namespace. The
  /// destructor or the guardian restores `settings` after the removal; they must outlive this.
  explicit TracingInstance(const std::filesystem::path& tracefs,
                           const TracingSettings* settings = nullptr);
  ~TracingInstance();
  TracingInstance(const TracingInstance&) = delete;
  TracingInstance& operator=(const TracingInstance&) = delete;

  /// Writes `text` to the file with this path in the instance. Throws Error with the kernel's
  /// reason.
  void write(const std::string& file, std::string_view text) const;
  bool try_write(const std::string& file, std::string_view text) const;
  /// Throws Error if the file cannot be read.
  std::string read(const std::string& file) const;
  const std::filesystem::path& path() const { return path_; }
  /// If this process is killed, the guardian removes the instance only after the process of `pidfd`
  /// has ended. The caller keeps the descriptor. Throws Error.
  void outlast(int pidfd) const;

 private:
  int guard();
  void remove();

  std::string name_;
  const TracingSettings* settings_;
  Fd instances_;  ///< the folder `instances`
  std::filesystem::path path_;
  Fd alive_;  ///< any end of this process closes it; the guardian reads the other end
  pid_t guardian_ = -1;
};

/// Removes the instances of Overdue processes that have ended. Returns their number.
unsigned sweep_tracing_instances(const std::filesystem::path& tracefs);

}  // namespace overdue
