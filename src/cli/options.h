#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "kernel/features.h"
#include "report/output.h"
#include "report/syscalls/view_options.h"
#include "target/selection.h"

namespace CLI {
class App;
}

namespace overdue {

/// `-p`, `-t`, `-n`, `-c`, `--container`, `-a`, `--cpu`, `--no-follow`, `--user`.
void add_target_options(CLI::App& app, TargetOptions& options);

/// Of these, the options that choose the threads to measure; `pid`: names of the option for a pid.
void add_whom_options(CLI::App& app, TargetOptions& options, const char* pid);

/// When a measurement ends.
struct StopOptions {
  std::optional<std::string> duration;
  std::optional<Duration> parsed() const;
};
void add_stop_options(CLI::App& app, StopOptions& options);

/// `--without`: features that a command treats as missing in the kernel.
struct KernelOptions {
  std::vector<std::string> without;
  /// Throws Error (exit status 2) for an unknown feature.
  std::unique_ptr<Kernel> open() const;
};
void add_kernel_options(CLI::App& app, KernelOptions& options);

/// `--no-sandbox`, `--perf-maps`: how stacks are read.
struct StackOptions {
  bool no_sandbox = false;
  bool perf_maps = false;
};
void add_stack_options(CLI::App& app, StackOptions& options);
/// With --perf-maps, asks the JVMs of the target for names of methods. Returns the answers, as
/// notes for the report. Throws as ask_jvms_for_perf_maps().
std::vector<std::string> asked_jvms(const StackOptions& options, const TargetSelection& target);

void add_output_options(CLI::App& app, OutputOptions& options, bool with_interval);

void add_view_options(CLI::App& app, ViewOptions& options);

/// A time, in the commands that follow rtla: a bare number is in microseconds. Throws Error.
Duration parse_us(const std::string& text, std::string_view option);

/// `8M`, `512k`, a plain number of bytes: rounded up to a power of two, 64 KiB to 1 GiB. Throws
/// Error.
std::size_t parse_buffer_size(const std::string& text);

/// Throws Error (exit status 2) if `bytes`, a value of --user-stack-bytes, is more than a record
/// has room for.
void check_user_stack(std::uint32_t bytes);

}  // namespace overdue
