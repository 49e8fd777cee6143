#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/time.h"
#include "target/spawn.h"

namespace overdue {

struct DebuginfodOptions {
  std::string servers{};  ///< addresses, separated by blanks
  InheritedState inherited{};
  Duration time_of_file = std::chrono::seconds(20);
  Duration time_of_all = std::chrono::seconds(60);  ///< after it, no server is asked any more
  std::uint64_t max_bytes = std::uint64_t{2} << 30;

  /// Options with the servers of DEBUGINFOD_URLS, else those of the machine (/etc/debuginfod).
  static DebuginfodOptions current(const InheritedState& inherited);
};

/// Debug files by build id, from debuginfod servers. `debuginfod-find` asks the servers as the
/// invoking user, with that user's cache: neither Overdue nor root reads data from the network.
/// Each failure is a note. Used by one thread, which waits for the answer.
class Debuginfod {
 public:
  explicit Debuginfod(DebuginfodOptions options);

  /// Calls `meanwhile` every few ms during a wait for a server.
  void while_waiting(std::function<void()> meanwhile) { meanwhile_ = std::move(meanwhile); }

  /// The debug file; empty if it cannot be fetched. `build_id`: lower-case hexadecimal.
  Fd find(const std::string& build_id);
  std::vector<std::string> notes() const;

 private:
  /// The path of the file in the user's cache; empty if the file cannot be fetched.
  std::string fetched(const std::string& build_id);
  Fd opened(const std::string& path);
  void fail(std::string why);

  DebuginfodOptions options_;
  std::function<void()> meanwhile_;
  std::map<std::string, std::string> known_;  // paths by build id; empty: not available
  Duration spent_{};
  std::uint64_t found_ = 0, failed_ = 0, left_out_ = 0;
  std::string why_failed_;  ///< reason of the first failure
};

}  // namespace overdue
