#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/latency_table.h"
#include "kernel/features.h"
#include "syscalls/classes.h"
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

/// `--no-sandbox`: how stacks are read.
struct StackOptions {
  bool no_sandbox = false;
};
void add_stack_options(CLI::App& app, StackOptions& options);

/// Where and how a report is written.
struct OutputOptions {
  std::string format = "text";
  std::string file;
  std::optional<std::string> interval;
  std::string color = "auto";
  bool to_stdout = false;
  bool quiet = false;
  bool verbose = false;

  std::optional<Duration> parsed_interval() const;
};
void add_output_options(CLI::App& app, OutputOptions& options, bool with_interval);

/// The content of a report of system calls: the same for `syscalls` and `report`.
struct ViewOptions {
  std::vector<std::string> only;  ///< values of -e
  std::vector<std::string> by;
  std::optional<std::string> sort;
  std::int64_t top = 0;  ///< 0: all rows
  bool calls = false;
  bool histograms = false;
  bool discover = false;

  /// Throws Error (exit status 2) for an invalid value or conflicting options, so that nothing is
  /// measured or overwritten for a report that cannot be shown.
  void check() const;
  /// Throws Error (exit status 2) for an unknown key.
  GroupBy group_by() const;
  std::string sort_column() const { return sort.value_or("total"); }
  /// `top`, checked.
  std::size_t row_limit() const;
  /// The calls that -e names; nothing if -e was not given.
  std::optional<SyscallSet> wanted(const Names& names = {}) const;
};
void add_view_options(CLI::App& app, ViewOptions& options);

/// A time, in the commands that follow rtla: a bare number is in microseconds. Throws Error.
Duration parse_us(const std::string& text, std::string_view option);

/// `8M`, `512k`, a plain number of bytes: rounded up to a power of two, 64 KiB to 1 GiB. Throws
/// Error.
std::size_t parse_buffer_size(const std::string& text);

}  // namespace overdue
