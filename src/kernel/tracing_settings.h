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

/// Machine-wide settings of tracefs, such as those of `osnoise/`, changed for a while. The former
/// values are saved before the first change, in a file that stays locked as long as this object, or
/// the guardian of a TracingInstance, lives. So one process at a time owns the settings, and a
/// process that finds the file of a killed process restores them first. An empty file means that no
/// setting was changed. The destructor restores the settings. One thread.
class TracingSettings {
 public:
  /// `folder` has the settings. `keeper` is the file, in a folder owned by root, created if
  /// missing; both are on file systems of this machine. `names` are files of `folder`, or "../…",
  /// in the order of their restoration; missing files are left out. `left_over` are the files that
  /// a killed Overdue process may have changed; empty: the same. Throws Error if another process
  /// owns the settings, or they cannot be saved.
  TracingSettings(const std::filesystem::path& folder, std::filesystem::path keeper,
                  std::span<const std::string_view> names,
                  std::span<const std::string_view> left_over = {});
  ~TracingSettings();
  TracingSettings(const TracingSettings&) = delete;
  TracingSettings& operator=(const TracingSettings&) = delete;

  bool has(std::string_view name) const;
  /// The value before the first change, without leading or trailing white space.
  std::string former(std::string_view name) const;
  /// Throws Error with the kernel's reason. Make a TracingInstance first: its guardian restores the
  /// settings if this process is killed.
  void set(std::string_view name, std::string_view value) const;
  /// Whether the constructor restored settings of a killed process.
  bool found_left_over() const { return found_left_over_; }

  /// Restores all settings. Async-signal-safe; may be called twice.
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
