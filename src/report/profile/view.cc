#include "report/profile/view.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "flame/formats.h"
#include "report/profile/sample_stacks.h"
#include "sinks/make_sink.h"
#include "sinks/text_format.h"
#include "target/output_file.h"

namespace overdue {
namespace {

constexpr std::size_t stacks_of_data = 20;  // in formats for programs, unless --top is given
constexpr std::size_t stack_ends_max = 64;
constexpr std::size_t cpus_max = 8192;
constexpr std::uint32_t highest_rate = 1'000'000;
constexpr std::array<std::uint32_t, 4> tick_rates{100, 250, 300, 1000};

/// Whether samples at this rate come in step with the ticks of a kernel, and so with the timers of
/// programs.
bool is_in_step(std::uint32_t rate_hz) {
  return rate_hz > 1 && std::ranges::any_of(tick_rates, [&](std::uint32_t tick) {
           return tick % rate_hz == 0 || rate_hz % tick == 0;
         });
}

}  // namespace

void choose_rows(ProfilePlan& plan, std::string_view word) {
  check_whose(word, profile_words);
  plan.by = whose_named(word).value_or(Whose::process);
}

KeptOptions kept_options(const ProfilePlan& plan) {
  return {{"rate_hz", std::to_string(plan.rate_hz)}, {"event", std::string(to_word(plan.event))}};
}

void use_kept(ProfilePlan& plan, const SessionInfo& info) {
  plan.rate_hz = static_cast<std::uint32_t>(kept_number(info.options, "rate_hz", 0, highest_rate));
  const auto event = info.options.find("event");
  if (event == info.options.end()) return;  // of a version that had only one
  plan.event = profile_event_named(event->second).value_or(plan.event);
}

void check_profile_intervals(const OutputOptions& output) {
  if (!output.interval || (output.format != "json" && !is_flame_format(output.format))) return;
  throw Error("-f {} and --interval do not go together", output.format)
      .hint("use -f ndjson: one JSON object a line; text and csv have intervals too")
      .exit_status(2);
}

ProfileView::ProfileView(ProfilePlan plan, const OutputOptions& output, bool spawned,
                         StackNamer& namer)
    : plan_(std::move(plan)),
      options_(output),
      spawned_(spawned),
      namer_(namer),
      profile_(plan_.by) {}

void ProfileView::begin(const SessionInfo& info) {
  profile_.use_names(info.names);
  if (is_flame_format(options_.format)) {
    report_.output = open_output(options_, spawned_);
    return;
  }
  report_ = open_report(options_, spawned_, options_.interval.has_value());
  report_.sink->begin(info);
}

void ProfileView::record(const Record& record) {
  if (record.schema->id == RECORD_PROFILE_SAMPLE) return add(record);
  if (record.schema->id != RECORD_PROFILE_CPU || cpus_.size() >= cpus_max) return;
  const auto cpu = record.as<profile_cpu>();
  cpus_.push_back(
      {.cpu = cpu.header.cpu, .samples = cpu.samples, .idle = cpu.idle, .others = cpu.others});
}

void ProfileView::add(const Record& record) {
  const auto& [kernel, user] = stacks_of_sample(record, namer_);
  if (!user.end.empty() && (ends_.size() < stack_ends_max || ends_.contains(user.end)))
    ++ends_[user.end];
  count_frames(kernel, user.frames);
  profile_.add(record.as<profile_sample>(), kernel, user);
  if (since_last_) since_last_->add(record.as<profile_sample>(), kernel, user);
}

void ProfileView::interval(const SessionInfo& info, Duration wall) {
  if (since_last_ && wall != Duration{}) {
    since_last_->resolve_names(info.names);
    const KernelTime end = info.start + info.duration;
    report_.sink->section(std::make_shared<ProfileSection>(figures(*since_last_, wall),
                                                           info.wall(end - wall), info.wall(end)));
  }
  since_last_.emplace(plan_.by);
  since_last_->use_names(info.names);
}

void ProfileView::count_frames(const Stack& kernel, const Stack& user) {
  const auto nameless = [](const Stack& stack) {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(stack, [](const StackFrame& frame) { return frame.name.empty(); }));
  };
  frames_.kernel += kernel.size();
  frames_.kernel_unresolved += nameless(kernel);
  frames_.user += user.size();
  frames_.user_unresolved += nameless(user);
}

ProfileFigures ProfileView::figures(const Profile& profile, Duration duration) const {
  ProfileFigures all{.event = plan_.event,
                     .rate_hz = plan_.rate_hz,
                     .duration_ns = static_cast<std::uint64_t>(duration.count()),
                     .samples = profile.samples(),
                     .kernel_samples = profile.kernel_samples(),
                     .cpus = &profile == &profile_ ? cpus_ : std::vector<ProfiledCpu>(),
                     .threads = profile.threads(),
                     .functions = profile.ranked_functions(),
                     .stacks = {},
                     .top = plan_.top,
                     .by = plan_.by,
                     .has_intervals = options_.interval.has_value()};
  for (const ProfiledStack& stack : profile.stacks(plan_.top ? plan_.top : stacks_of_data)) {
    NamedStack named{
        .root = stack.root, .samples = stack.samples, .frames = {}, .is_cut = stack.is_cut};
    for (const std::uint32_t number : stack.frames)
      named.frames.push_back(profile.functions()[number]);
    all.stacks.push_back(std::move(named));
  }
  const auto cut = [&](auto& rows) {
    if (plan_.top != 0 && rows.size() > plan_.top) rows.resize(plan_.top);
  };
  if (options_.format != "text") cut(all.threads), cut(all.functions);
  return all;
}

std::vector<std::string> ProfileView::notes() const {
  std::vector<std::string> notes;
  if (is_in_step(plan_.rate_hz))
    notes.push_back(fmt::format(
        "{} Hz may be in step with ticks, and with programs' timers: 99 Hz is not", plan_.rate_hz));
  if (profile_.cut() > 0 && !ends_.empty()) {
    const auto most = std::ranges::max_element(
        ends_, [](const auto& one, const auto& other) { return one.second < other.second; });
    notes.push_back(
        fmt::format("samples without the outermost frames of the user stack: {}; most often: {}",
                    grouped(profile_.cut()), printable(most->first)));
  }
  if (profile_.merged() > 0)
    notes.push_back(fmt::format("samples in '(other)', for want of room for more stacks: {}",
                                grouped(profile_.merged())));
  if (std::string note = left_out_text(profile_.processes()); !note.empty())
    notes.push_back(std::move(note));
  return notes;
}

void ProfileView::draw(Output& output, std::string_view format, const SessionInfo& info,
                       const Receipt& receipt) const {
  DrawingOptions drawing;
  drawing.title = "Where CPU time was spent";
  drawing.subtitle = target_text(info.target);
  drawing.counted = "sample";
  for (const std::string& line : receipt_lines(info, receipt)) drawing.footer += line + '\n';
  output.append(flame_text(profile_.tree(), drawing, format));
}

void ProfileView::end(const SessionInfo& info, const Receipt& measured) {
  SessionInfo shown = info;
  profile_.resolve_names(info.names);
  for (std::string& note : notes()) shown.notes.push_back(std::move(note));
  Receipt receipt = measured;
  receipt.frames = frames_;
  if (!plan_.flame.empty()) {
    Output file(create_output_file(plan_.flame));
    draw(file, flame_format_of(plan_.flame), shown, receipt);
    file.flush();
  }
  if (!report_.sink) {
    draw(*report_.output, options_.format, shown, receipt);
  } else {
    report_.sink->section(std::make_shared<ProfileSection>(figures(profile_, info.duration)));
    report_.sink->end(shown, receipt);
  }
  report_.output->close();
}

}  // namespace overdue
