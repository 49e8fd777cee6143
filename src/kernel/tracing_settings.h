#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"

namespace overdue {

/// Settings of tracefs that the machine has only one of, such as those of `osnoise/`, changed for a
/// while. What they were is written down before the first is changed, into a file that is locked as
/// long as this, or a TracingInstance's guardian, lives: one process at a time has them; and one
/// that finds the file of a process that was killed puts them back before anything else. An empty
/// file says that nothing was changed. They are put back when this is destroyed. One thread.
class TracingSettings {
 public:
  /// `folder` is where the settings are, `keeper` the file, in a folder of root's that is made if
  /// need be; both on file systems of this machine. `names` are files of `folder`, or "../…", in
  /// the order in which they are to be put back; those it does not have are left out.
  /// `left_over` are those that a killed process of ours may have had; empty: the same. Throws
  /// Error where another process has them, or they cannot be kept.
  TracingSettings(const std::filesystem::path& folder, std::filesystem::path keeper,
                  std::span<const std::string_view> names,
                  std::span<const std::string_view> left_over = {});
  ~TracingSettings();
  TracingSettings(const TracingSettings&) = delete;
  TracingSettings& operator=(const TracingSettings&) = delete;

  bool has(std::string_view name) const;
  /// As it was: without white space at either end.
  std::string former(std::string_view name) const;
  /// Throws Error with the kernel's reason. Best when a TracingInstance was made: then its guardian
  /// puts back what a killed process has set.
  void set(std::string_view name, std::string_view value) const;
  /// Something was put back that a killed process had left.
  bool found_left_over() const { return found_left_over_; }

  /// Puts everything back as it was. Async-signal-safe; may be called twice.
  void restore() const;
  /// Descriptors that restore() and the lock need.
  std::array<int, 2> descriptors() const { return {folder_.get(), keeper_.get()}; }

 private:
  using Values = std::vector<std::pair<std::string, std::string>>;  // file, a word or line for it
  void lock();
  void restore_left_over(std::span<const std::string_view> names);
  void keep() const;
  void write_all(const Values& values) const;

  std::filesystem::path path_, keeper_path_;
  Fd folder_, keeper_;
  Values former_;
  bool found_left_over_ = false;
};

}  // namespace overdue
