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
/// CAP_SYS_ADMIN: without it Debian's kernels open no event of perf's, CAP_PERFMON or not, where
/// kernel.perf_event_paranoid is 3.
extern const std::uint64_t attach_rights;

/// While one lives, the calling thread has `wanted` in force too, as far as it is permitted. May be
/// nested.
class AddedRights {
 public:
  explicit AddedRights(std::uint64_t wanted);
  ~AddedRights();
  AddedRights(const AddedRights&) = delete;
  AddedRights& operator=(const AddedRights&) = delete;

 private:
  ThreadRights before_;
  bool has_added_;
};

/// While one lives, the calling thread reads every file and searches every folder
/// (CAP_DAC_READ_SEARCH), if Overdue has that right at all. A measuring command has it in force
/// only so: for /proc, tracefs and the files of the programs that it measures, and not for files
/// that its caller names.
class ReadRights : public AddedRights {
 public:
  ReadRights() : AddedRights(read_override) {}
};

/// Likewise what it takes to attach a program, also after that was done.
class AttachRights : public AddedRights {
 public:
  AttachRights() : AddedRights(attach_rights) {}
};

}  // namespace overdue
