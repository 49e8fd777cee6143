#pragma once

#include <cstdint>

namespace overdue {

/// The capabilities of the calling thread, a bit each: 1 << CAP_… of <linux/capability.h>. The
/// kernel keeps them for each thread; a new thread begins with those of the one that starts it.
struct ThreadRights {
  std::uint64_t effective = 0;  ///< in force
  std::uint64_t permitted = 0;  ///< may be put in force

  /// Throws Error where the kernel does not answer.
  static ThreadRights current();
  /// Of these no others than `capabilities`, and all of them in force.
  ThreadRights only(std::uint64_t capabilities) const {
    return {.effective = permitted & capabilities, .permitted = permitted & capabilities};
  }
  /// Puts these in force; none is handed on to what is executed. What leaves `permitted` is gone
  /// for good. Throws Error where the kernel refuses.
  void apply() const;
  /// The same, async-signal-safe: false where the kernel refuses.
  bool try_to_apply() const noexcept;
};

/// CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH; the latter alone. With them permissions of files do
/// not count.
extern const std::uint64_t file_overrides, read_override;

/// While one lives, the calling thread reads every file and searches every folder
/// (CAP_DAC_READ_SEARCH), if Overdue has that right at all. A measuring command has it in force
/// only so: for /proc, tracefs and the files of the programs that it measures, and not for files
/// that its caller names. May be nested.
class ReadRights {
 public:
  ReadRights();
  ~ReadRights();
  ReadRights(const ReadRights&) = delete;
  ReadRights& operator=(const ReadRights&) = delete;

 private:
  ThreadRights before_;
};

}  // namespace overdue
