#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace overdue {

class TracingSettings;

/// A tracing instance of our own: buffers, tracer, events and options that nobody else has, in
/// `instances/overdue-PID-START`. It is removed when this is destroyed; by a child that waits for
/// that if this process is killed; and by the next one that makes an instance, if both were. One
/// thread.
class TracingInstance {
 public:
  /// Throws Error where the kernel refuses. Process ids are to be those of the kernel. `settings`
  /// are put back once this is removed, whoever does that; they must live longer than this.
  explicit TracingInstance(const std::filesystem::path& tracefs,
                           const TracingSettings* settings = nullptr);
  ~TracingInstance();
  TracingInstance(const TracingInstance&) = delete;
  TracingInstance& operator=(const TracingInstance&) = delete;

  /// Into a file of the instance, by its path within. Throws Error with the kernel's reason.
  void write(const std::string& file, std::string_view text) const;
  bool try_write(const std::string& file, std::string_view text) const;
  /// Throws Error where it cannot be read.
  std::string read(const std::string& file) const;
  const std::filesystem::path& path() const { return path_; }
  /// Where this process is killed, that process, a `pidfd`, is to have ended before the instance is
  /// taken down. The descriptor stays the caller's. Throws Error.
  void outlast(int pidfd) const;

 private:
  int guard();
  void remove();

  std::string name_;
  const TracingSettings* settings_;
  Fd instances_;  ///< the folder
  std::filesystem::path path_;
  Fd alive_;  ///< closed by our end, whatever it is: the child reads the other end
  pid_t guardian_ = -1;
};

/// Removes the instances of processes of ours that do not run any more. Returns how many.
unsigned sweep_tracing_instances(const std::filesystem::path& tracefs);

}  // namespace overdue
