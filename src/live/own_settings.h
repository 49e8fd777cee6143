#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/time.h"

namespace overdue {

/// One measurement of `record --events` with its settings: "worst:wakeup_rt:threshold=100us:keep=3"
/// is the measurement "worst" of "wakeup_rt" with two settings.
class OwnSettings {
 public:
  /// Throws Error (exit status 2) for a word that is neither `key=value` nor, once, a latency.
  explicit OwnSettings(std::string_view text);

  const std::string& name() const { return name_; }
  /// The word without `=` behind the name, or empty.
  const std::string& latency() const { return latency_; }

  /// Each returns the setting `key`, or `otherwise` if it was not given. Throws Error (exit status
  /// 2) for a value that is none.
  Duration duration(const std::string& key, Duration otherwise);
  std::uint64_t ns(const std::string& key, std::uint64_t otherwise) {
    return static_cast<std::uint64_t>(
        duration(key, Duration(static_cast<std::int64_t>(otherwise))).count());
  }
  std::uint64_t number(const std::string& key, std::uint64_t otherwise);

  /// Throws Error (exit status 2) for a setting that was never asked for.
  void check_all_known() const;

 private:
  const std::string* find(const std::string& key);

  std::string name_, latency_;
  std::map<std::string, std::string> given_;
  std::string known_;  ///< the keys that were asked for: "period=, priority="
  std::size_t found_ = 0;
};

}  // namespace overdue
