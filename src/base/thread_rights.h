#pragma once

#include <cstdint>

namespace overdue {

/// The capabilities of a thread, a bit each: 1 << CAP_… of <linux/capability.h>. The kernel keeps
/// them per thread; a new thread inherits those of the thread that starts it.
struct ThreadRights {
  std::uint64_t effective = 0;  ///< in force
  std::uint64_t permitted = 0;  ///< may be put in force

  /// The rights of the calling thread. Throws Error if the kernel refuses.
  static ThreadRights current();
  /// These rights limited to `capabilities`, and all of them in force.
  ThreadRights only(std::uint64_t capabilities) const {
    return {.effective = permitted & capabilities, .permitted = permitted & capabilities};
  }
  /// Applies these rights to the calling thread; executed programs inherit none. A capability
  /// removed from `permitted` is lost for good. Throws Error if the kernel refuses.
  void apply() const;
  /// As apply(), but async-signal-safe: false if the kernel refuses.
  bool try_to_apply() const noexcept;
};

/// CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH; the latter alone. They override the permissions of
/// files.
extern const std::uint64_t file_overrides, read_override;
/// CAP_SYS_ADMIN: if kernel.perf_event_paranoid is 3, Debian's kernels open no perf event without
/// it, even with CAP_PERFMON.
extern const std::uint64_t attach_rights;

/// Puts `wanted` in force in the calling thread too, as far as permitted, until destroyed. May be
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

/// Lets the calling thread read every file and search every folder (CAP_DAC_READ_SEARCH) until
/// destroyed, if Overdue has that right at all. A measuring command uses the right only in this
/// way: for /proc, tracefs and the files of measured programs, never for files that its user names.
class ReadRights : public AddedRights {
 public:
  ReadRights() : AddedRights(read_override) {}
};

/// Likewise the right to attach a program, even after the first programs were attached.
class AttachRights : public AddedRights {
 public:
  AttachRights() : AddedRights(attach_rights) {}
};

}  // namespace overdue
