#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/stack_namer.h"
#include "report/output.h"
#include "report/profile/profile.h"
#include "report/profile/sections.h"
#include "source/kept_options.h"
#include "source/listener.h"

namespace overdue {

/// The content of a profile's report, live or from a file.
struct ProfilePlan {
  profile_event event = PROFILE_CPU_CLOCK;
  std::uint32_t rate_hz = 99;  ///< as asked for
  Whose by = Whose::process;
  std::size_t top = 0;  ///< rows of each table; 0: all, in a text as many as fit
  std::string flame{};  ///< file of a drawing besides the report; empty: none
};

/// Chooses by one of profile_words; throws Error (exit status 2) for any other word.
void choose_rows(ProfilePlan& plan, std::string_view word);

/// The plan as a recording keeps it: only what the report of the recording cannot choose anew.
KeptOptions kept_options(const ProfilePlan& plan);
/// Takes from a recording what kept_options() wrote; a rate that is missing or damaged is 0.
void use_kept(ProfilePlan& plan, const SessionInfo& info);

/// Throws Error (exit status 2) unless `output` has a place for intervals, if they are wanted.
void check_profile_intervals(const OutputOptions& output);

/// Adds up the samples of a session, and shows them at the end in the requested format. One thread.
class ProfileView final : public MeasureListener {
 public:
  /// `spawned`: as of open_report(). `output` and `namer` must outlive this object.
  ProfileView(ProfilePlan plan, const OutputOptions& output, bool spawned, StackNamer& namer);

  void begin(const SessionInfo& info) override;
  void use_names(const Names& names) override {
    profile_.use_names(names);
    if (since_last_) since_last_->use_names(names);
  }
  void record(const Record& record) override;
  void interval(const SessionInfo& info, Duration wall) override;
  void tick() override {
    if (since_last_) report_.output->flush();
  }
  void end(const SessionInfo& info, const Receipt& receipt) override;

 private:
  void add(const Record& record);
  void count_frames(const Stack& kernel, const Stack& user);
  ProfileFigures figures(const Profile& profile, Duration duration) const;
  std::vector<std::string> notes() const;
  void draw(Output& output, std::string_view format, const SessionInfo& info,
            const Receipt& receipt) const;

  ProfilePlan plan_;
  const OutputOptions& options_;
  bool spawned_;
  StackNamer& namer_;
  ReportOutput report_;  ///< without a sink if a drawing is the report
  Profile profile_;
  std::optional<Profile> since_last_;  ///< samples of the present interval
  std::vector<ProfiledCpu> cpus_;
  std::map<std::string, std::uint64_t> ends_;  ///< why user stacks end early; bounded
  FrameCounts frames_;
};

}  // namespace overdue
