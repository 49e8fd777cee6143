#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace overdue {

/// Collects what libbpf says instead of letting it print, and turns it into one sentence. libbpf
/// has one log callback per process and no context for it, so the text is kept in one place here:
/// use from one thread.
class LibbpfLog {
 public:
  /// Starts collecting; what was collected before is dropped.
  LibbpfLog();

  /// The Error for a load or attach that failed since construction: `what` could not be done, why
  /// (the verifier's verdict, what libbpf refused by itself, or the meaning of `error`, a negative
  /// errno), what to do about it, and the whole log for `-v`.
  static Error refusal(const std::string& what, int error);
  /// The program that the last load failed at; empty where the log names none.
  static std::string refused_program();
  /// For `-v`: keeps a line of our own about what was attached.
  static void attached(std::string what);
  /// What attached() was told since the start of the process.
  static const std::vector<std::string>& attachments();
};

}  // namespace overdue
