#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <charconv>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "bpf/span.h"
#include "cli/options_file.h"
#include "live/jvm_perf_maps.h"

namespace overdue {
namespace {

// A list may be given by commas or by repetition. The parsers of the values split at the commas.
CLI::Option* add_list(CLI::App& app, const char* names, std::vector<std::string>& values) {
  return app.add_option(names, values)->allow_extra_args(false)->take_all();
}

}  // namespace

void add_whom_options(CLI::App& app, TargetOptions& options, const char* pid) {
  add_list(app, pid, options.pids)->group(target_group);
  add_list(app, "-t,--tid", options.tids)->group(target_group);
  add_list(app, "-n,--name", options.names)->group(target_group);
  add_list(app, "-c,--cgroup", options.cgroups)->group(target_group);
  add_list(app, "--container", options.containers)->group(target_group);
  app.add_flag("-a,--all", options.all)->group(target_group);
  app.add_flag("--no-follow", options.no_follow);
}

void add_target_options(CLI::App& app, TargetOptions& options) {
  add_whom_options(app, options, "-p,--pid");
  app.add_option("--cpu", options.cpus);
  app.add_option("--user", options.user);
}

void add_stop_options(CLI::App& app, StopOptions& options) {
  app.add_option("-d,--duration", options.duration);
}

std::optional<Duration> StopOptions::parsed() const {
  if (!duration) return std::nullopt;
  const Duration value = parse_duration(*duration, "--duration");
  if (value.count() == 0)
    throw Error("bad time '{}' for --duration: nothing can be measured in no time", *duration)
        .hint("give a time above zero, or leave --duration out")
        .exit_status(2);
  return value;
}

void add_kernel_options(CLI::App& app, KernelOptions& options) {
  app.add_option("--without", options.without)->delimiter(',')->allow_extra_args(false)->take_all();
}

std::unique_ptr<Kernel> KernelOptions::open() const {
  auto kernel = std::make_unique<Kernel>();
  kernel->pretend_missing({without.begin(), without.end()});
  return kernel;
}

void add_stack_options(CLI::App& app, StackOptions& options) {
  app.add_flag("--no-sandbox", options.no_sandbox);
  app.add_flag("--perf-maps", options.perf_maps);
}

std::vector<std::string> asked_jvms(const StackOptions& options, const TargetSelection& target) {
  return options.perf_maps ? ask_jvms_for_perf_maps(target) : std::vector<std::string>();
}

void add_output_options(CLI::App& app, OutputOptions& options, bool with_interval) {
  app.add_option("-f,--format", options.format);
  app.add_option("-o,--output", options.file);
  if (with_interval) app.add_option("-i,--interval", options.interval);
  app.add_option("--color", options.color)->check(CLI::IsMember({"auto", "always", "never"}));
  app.add_flag("--stdout", options.to_stdout);
  app.add_flag("-q,--quiet", options.quiet);
  app.add_flag("-v,--verbose", options.verbose);
}

void add_view_options(CLI::App& app, ViewOptions& options) {
  add_list(app, "-e,--only", options.only);
  add_list(app, "--by", options.by);
  app.add_option("--sort", options.sort);
  app.add_option("--top", options.top);
  app.add_flag("--calls", options.calls);
  app.add_flag("--hist", options.histograms);
  app.add_flag("--discover", options.discover);
}

Duration parse_us(const std::string& text, std::string_view option) {
  const bool bare = !text.empty() && std::all_of(text.begin(), text.end(),
                                                 [](char c) { return c >= '0' && c <= '9'; });
  return parse_duration(bare ? text + "us" : text, option);
}

void check_user_stack(std::uint32_t bytes) {
  if (bytes > USER_STACK_MAX)
    throw Error("--user-stack-bytes {} is too much", bytes)
        .hint(fmt::format("at most {}; 0 copies none", USER_STACK_MAX))
        .exit_status(2);
}

std::size_t parse_buffer_size(const std::string& text) {
  constexpr std::size_t least = 64 << 10, most = 1 << 30;
  const auto bad = [&](const char* why) {
    return Error("bad size '{}' for --buffer: {}", printable(text), why)
        .hint("give bytes per CPU between 64k and 1G, such as 8M")
        .exit_status(2);
  };
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) throw bad("not a number");
  static const std::map<std::string_view, unsigned> shifts{
      {"", 0}, {"k", 10}, {"K", 10}, {"M", 20}, {"m", 20}, {"G", 30}, {"g", 30}};
  const auto shift =
      shifts.find(std::string_view(end, static_cast<std::size_t>(text.data() + text.size() - end)));
  if (shift == shifts.end()) throw bad("unknown unit");
  if (number > (most >> shift->second) || number << shift->second < least)
    throw bad("out of range");
  return std::bit_ceil(number << shift->second);
}

}  // namespace overdue
