#pragma once

#include <string>
#include <vector>

namespace overdue {

/// Collects what libbpf says instead of letting it print, and turns it into one sentence. libbpf
/// has one log callback per process and no context for it, so the text is kept in one place here:
/// use from one thread.
class LibbpfLog {
 public:
  /// Starts collecting; what was collected before is dropped.
  LibbpfLog();

  /// Why the last load or attach failed, for a person: the verifier's last complaint, or what the
  /// errno means here (`error` is a negative errno).
  static std::string explain(int error);
  /// What to do about it.
  static std::string remedy(int error);
  /// Everything libbpf said since construction, for `-v`.
  static const std::string& text();
  /// For `-v`: keeps a line of our own about what was attached.
  static void attached(std::string what);
  /// What attached() was told since the start of the process.
  static const std::vector<std::string>& attachments();
};

}  // namespace overdue
