#include "live/debuginfod.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "base/read_text.h"
#include "base/text.h"
#include "sinks/text_format.h"
#include "symbols/open_file.h"
#include "target/file_rights.h"
#include "target/identity.h"

namespace overdue {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_path = 4096, max_servers_bytes = 16u << 10, max_known = 4096;
constexpr int no_program = 127;
constexpr std::chrono::milliseconds longest_poll{5};  // between two calls of `meanwhile`

// $1: the build id, $2: the servers, $3: seconds, $4: bytes. The script writes its answer to its
// standard input, a file of Overdue's: its standard output is Overdue's standard error.
constexpr const char* script = R"(
  ulimit -c 0
  ulimit -f $(($4 / 512))
  unset DEBUGINFOD_PROGRESS DEBUGINFOD_VERBOSE
  export DEBUGINFOD_URLS="$2" DEBUGINFOD_MAXTIME="$3" DEBUGINFOD_TIMEOUT="$3" DEBUGINFOD_MAXSIZE="$4"
  exec debuginfod-find debuginfo "$1" >&0 2>/dev/null)";

/// The servers in /etc/debuginfod, which /etc/profile.d gives to login shells in the same way.
std::string servers_of_machine() {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/etc/debuginfod", error))
    if (entry.path().extension() == ".urls") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::string servers;
  for (const fs::path& file : files) servers += read_text(file).value_or("") + " ";
  return servers;
}

std::string one_line(std::string text) {
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

/// The exit status of the program; nothing if the program ran out of time and was killed.
std::optional<int> wait_for(SpawnedProgram& program, Duration patience,
                            const std::function<void()>& meanwhile) {
  const KernelTime deadline = KernelClock::now() + patience;
  while (true) {
    if (const auto status = program.try_wait()) return status;
    const KernelTime now = KernelClock::now();
    if (now >= deadline) break;
    pollfd ended{.fd = program.pidfd(), .events = POLLIN, .revents = 0};
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(deadline - now);
    poll(&ended, 1, static_cast<int>(std::min(milliseconds, longest_poll).count()));
    if (meanwhile) meanwhile();
  }
  kill(-static_cast<pid_t>(program.pid()), SIGKILL);
  program.wait();
  return std::nullopt;
}

}  // namespace

DebuginfodOptions DebuginfodOptions::current(const InheritedState& inherited) {
  const char* const named = std::getenv("DEBUGINFOD_URLS");
  DebuginfodOptions options{.servers = named ? named : "", .inherited = inherited};
  if (one_line(options.servers).empty()) options.servers = servers_of_machine();
  return options;
}

Debuginfod::Debuginfod(DebuginfodOptions options) : options_(std::move(options)) {
  options_.servers = one_line(std::move(options_.servers));
  if (options_.servers.size() > max_servers_bytes) options_.servers.clear();
}

void Debuginfod::fail(std::string why) {
  if (failed_++ == 0) why_failed_ = std::move(why);
}

Fd Debuginfod::find(const std::string& build_id) {
  if (options_.servers.empty()) return {};
  const auto known = known_.find(build_id);
  if (known != known_.end()) return known->second.empty() ? Fd() : opened(known->second);
  if (spent_ >= options_.time_of_all || known_.size() >= max_known) {
    ++left_out_;
    return {};
  }
  const KernelTime begin = KernelClock::now();
  std::string path;
  try {
    path = fetched(build_id);
  } catch (const Error& error) {
    fail(error.what());
  }
  spent_ += KernelClock::now() - begin;
  Fd file = path.empty() ? Fd() : opened(path);
  if (!path.empty() && !file) fail("the file is not the invoking user's, or too large");
  found_ += static_cast<bool>(file);
  known_.emplace(build_id, file ? path : std::string());
  return file;
}

std::string Debuginfod::fetched(const std::string& build_id) {
  const Fd answer(check_errno(memfd_create("debuginfod", MFD_CLOEXEC), "cannot ask debuginfod"));
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(options_.time_of_file).count();
  SpawnedProgram program({"/bin/sh", "-c", script, "debuginfod", build_id, options_.servers,
                          fmt::to_string(seconds), fmt::to_string(options_.max_bytes)},
                         {.inherited = options_.inherited, .helper_input = answer.get()});
  program.release();
  const auto status = wait_for(program, options_.time_of_file, meanwhile_);
  if (!status) {
    fail(fmt::format("it took longer than {}", format_duration(options_.time_of_file)));
    return {};
  }
  if (*status != 0) {
    fail(*status == no_program ? "debuginfod-find is not installed" : "no server has them");
    return {};
  }
  std::array<char, longest_path> text{};
  const ssize_t size = pread(answer.get(), text.data(), text.size(), 0);
  std::string path(text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  path.resize(std::min(path.find('\n'), path.size()));
  if (path.starts_with('/') && path.find('\0') == std::string::npos) return path;
  fail("debuginfod-find named no file");
  return {};
}

// The user has named the file, and must not read another user's file through Overdue.
Fd Debuginfod::opened(const std::string& path) {
  const auto user = choose_identity(IdentityRequest::current(std::nullopt));
  const FileRights rights(user);
  Fd file = open_regular(path);
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0) return {};
  const bool is_theirs = status.st_uid == (user ? user->uid : geteuid());
  const bool is_bounded = static_cast<std::uint64_t>(status.st_size) <= options_.max_bytes;
  return is_theirs && is_bounded ? std::move(file) : Fd();
}

std::vector<std::string> Debuginfod::notes() const {
  std::vector<std::string> notes;
  if (options_.servers.empty())
    notes.emplace_back(
        "--debuginfod: no server was asked; DEBUGINFOD_URLS is not set (sudo takes it away), and "
        "/etc/debuginfod names none");
  if (found_ > 0)
    notes.push_back(fmt::format("debug files by debuginfod: {}, in {}", grouped(found_),
                                format_duration(spent_)));
  if (failed_ > 0)
    notes.push_back(fmt::format("debug files that debuginfod could not get: {} ({})",
                                grouped(failed_), printable(why_failed_)));
  if (left_out_ > 0)
    notes.push_back(fmt::format("debug files that were not asked for, after {} of asking: {}",
                                format_duration(spent_), grouped(left_out_)));
  return notes;
}

}  // namespace overdue
