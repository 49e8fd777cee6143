#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/section.h"
#include "probes/profile/probe.h"
#include "report/profile/profile.h"

namespace overdue {

/// The words of --by.
inline constexpr std::array<std::string_view, 4> profile_words{"thread", "name", "cgroup",
                                                               "parent"};

/// A CPU that was sampled.
struct ProfiledCpu {
  std::uint32_t cpu = 0;
  std::uint64_t samples = 0;  ///< in threads of the target
  std::uint64_t idle = 0;
  std::uint64_t others = 0;
  std::uint64_t taken() const { return samples + idle + others; }
};

/// A stack of the report, with the names of its functions.
struct NamedStack {
  std::string root{};
  std::uint64_t samples = 0;
  std::vector<ProfiledFunction> frames{};  ///< innermost first
  bool is_cut = false;                     ///< the outermost frames are missing
};

/// The content of a profile's report.
struct ProfileFigures {
  profile_event event = PROFILE_CPU_CLOCK;
  std::uint32_t rate_hz = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t samples = 0;
  std::uint64_t kernel_samples = 0;
  std::vector<ProfiledCpu> cpus{};
  std::vector<ProfiledThread> threads{};
  std::vector<ProfiledFunction> functions{};
  std::vector<NamedStack> stacks{};  ///< hottest first
  std::size_t top = 0;               ///< rows of each table; 0: all, in a text the default
  Whose by = Whose::process;         ///< begins of stacks; by process, CSV has functions
  bool has_intervals = false;        ///< rows of CSV say which interval they are of

  /// The rate at which the CPUs were sampled, in all; 0 if it is not known.
  double delivered_hz() const;
  /// CPU time of a thread as a share of one CPU's time.
  double cpu_share(const ProfiledThread& thread) const;
};

/// The report of `overdue profile`, of a whole session or of an interval of it.
class ProfileSection final : public Section {
 public:
  ProfileSection() = default;
  explicit ProfileSection(ProfileFigures figures) : figures_(std::move(figures)) {}
  /// `start`, `end`: those of an interval.
  ProfileSection(ProfileFigures figures, WallTime start, WallTime end)
      : figures_(std::move(figures)), interval_(Interval{start, end}) {}
  /// A section of an interval, for its description.
  static SectionPtr any_interval();

  Place place() const override { return interval_ ? Place::line : Place::report; }
  std::string_view type() const override {
    return interval_ ? std::string_view("interval") : std::string_view{};
  }
  void members(Members& member, const ReportContext& context) const override;
  std::string text(const ReportContext& context) const override;
  void rows(CsvRows& csv, const ReportContext& context) const override;

 private:
  struct Interval {
    WallTime start, end;
  };

  ProfileFigures figures_;
  std::optional<Interval> interval_;
};

/// The report for people.
std::string profile_text(const ProfileFigures& figures, bool whole_stacks);
/// That of an interval: fewer rows, and no stacks unless the user asked for a number of rows.
std::string profile_interval_text(const ProfileFigures& figures, bool whole_stacks);

}  // namespace overdue
