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
  std::string servers{};  ///< addresses with blanks between
  InheritedState inherited{};
  Duration time_of_file = std::chrono::seconds(20);
  Duration time_of_all = std::chrono::seconds(60);  ///< beyond, nothing is asked for any more
  std::uint64_t most_bytes = std::uint64_t{2} << 30;

  /// With the servers that the user has named: those of DEBUGINFOD_URLS, else those of the machine
  /// (/etc/debuginfod).
  static DebuginfodOptions current(const InheritedState& inherited);
};

/// Debug files by build id, from debuginfod servers. `debuginfod-find` asks them, as the invoking
/// user and with its cache: what comes from the net is no business of ours, and of root's even
/// less. Whatever does not work is a note. Used by one thread, which waits for the answer.
class Debuginfod {
 public:
  explicit Debuginfod(DebuginfodOptions options);

  /// What to do every few ms while a server is waited for.
  void while_waiting(std::function<void()> meanwhile) { meanwhile_ = std::move(meanwhile); }

  /// Empty where it cannot be had. `build_id`: lower-case hexadecimal.
  Fd find(const std::string& build_id);
  std::vector<std::string> notes() const;

 private:
  /// The path of the file in the user's cache; empty where it cannot be had.
  std::string fetched(const std::string& build_id);
  Fd opened(const std::string& path);
  void fail(std::string why);

  DebuginfodOptions options_;
  std::function<void()> meanwhile_;
  std::map<std::string, std::string> known_;  // paths by build id; empty: it cannot be had
  Duration spent_{};
  std::uint64_t found_ = 0, failed_ = 0, left_out_ = 0;
  std::string why_failed_;  ///< the first time
};

}  // namespace overdue
