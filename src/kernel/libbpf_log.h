#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace overdue {

/// Collects libbpf's messages instead of letting libbpf print them, and turns them into one
/// sentence. libbpf has one log callback per process, without a context, so there is one collected
/// text. One thread.
class LibbpfLog {
 public:
  /// Drops the text collected so far, and starts collecting.
  LibbpfLog();

  /// The Error for a load or attach that failed since construction: `what` could not be done, the
  /// reason (the verifier's verdict, libbpf's own refusal, or the meaning of `error`, a negative
  /// errno), a hint, and the whole log for `-v`.
  static Error refusal(const std::string& what, int error);
  /// The program at which the last load failed; empty if the log names none.
  static std::string refused_program();
  /// For `-v`: keeps `what`, a line about an attachment.
  static void attached(std::string what);
  /// The lines passed to attached() since the start of the process.
  static const std::vector<std::string>& attachments();
};

}  // namespace overdue
