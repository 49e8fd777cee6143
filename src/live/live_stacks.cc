#include "live/live_stacks.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "resolve/local_resolver.h"
#include "resolve/nameless_resolver.h"
#include "resolve/sandboxed_resolver.h"
#include "sinks/text_format.h"
#include "source/say.h"
#include "symbols/process_maps.h"
#include "symbols/served_devices.h"

namespace overdue {
namespace {

constexpr std::size_t thread_names_kept = 65536;

/// Why `stack` goes no further; empty if the stack is complete.
std::string end_of(const ResolvedStack& stack) {
  if (stack.end == StackEnd::complete) return {};
  const std::string_view reason = to_text(stack.end);
  return stack.end_module.empty() ? std::string(reason)
                                  : fmt::format("{} in {}", reason, stack.end_module);
}

/// The C library and the dynamic loader, as any distribution names them.
bool is_in_most_programs(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libc.so.") || name.starts_with("libc-2.") || name.starts_with("ld-");
}

}  // namespace

LiveStacks::LiveStacks(const Options& wanted) {
  const Resolver::Options options{.names = wanted.names,
                                  .remember_frames = wanted.many_stacks && !wanted.lines};
  auto sandbox = wanted.lines ? SandboxedResolver::SandboxOptions::with_lines()
                              : SandboxedResolver::SandboxOptions{};
  sandbox.fetch_debug_file = wanted.fetch_debug_file;
  if (!wanted.sandbox) {
    if (wanted.lines)
      throw Error(
          "--lines and --no-sandbox do not go together: only the sandbox reads source lines")
          .hint("leave one of them out")
          .exit_status(2);
    resolver_ = std::make_unique<LocalResolver>(images_, options, StackReader::Options{});
    return;
  }
  try {
    resolver_ = std::make_unique<SandboxedResolver>(images_, options, std::move(sandbox));
    if (wanted.many_stacks) resolver_->read_ahead();  // after the child, which has one thread
  } catch (const Error& error) {
    without_sandbox_ = error.what();
    say("overdue: user stacks have no names: {}\nhint: --no-sandbox reads programs' files with "
        "Overdue's own rights: for programs that you trust\n",
        without_sandbox_);
    resolver_ = std::make_unique<NamelessResolver>(images_, options);
  }
}

void LiveStacks::begin(const SessionInfo& info) {
  try {
    events_.emplace();
  } catch (const Error& error) {
    without_events_ = error.what();
  }
  for (const std::uint32_t pid : info.target.pids) images_.add_target(static_cast<pid_t>(pid));
  python_.note_target(info.target.pids);
  java_.note_target(info.target.pids);
  // Before a session runs, `meanwhile_` would end it.
  resolver_->while_waiting({});
  java_.look(*resolver_, KernelClock::now());
  resolver_->while_waiting(meanwhile_);
}

// Reads the C library and the dynamic loader, which a static Overdue knows only from its parent,
// and Overdue itself, which a spawned program is until its execve.
void LiveStacks::warm_up() {
  warm_up(getpid(), reinterpret_cast<std::uint64_t>(&end_of));
  for (const pid_t pid : {getpid(), getppid()}) {
    const auto maps = ProcessMaps::read(pid);
    if (!maps) continue;
    for (const Mapping& mapping : maps->all())
      if (mapping.is_executable && is_in_most_programs(mapping.path)) warm_up(pid, mapping.start);
  }
}

void LiveStacks::warm_up(pid_t pid, std::uint64_t address) {
  user_registers registers{};
  registers.rip = address;
  resolver_->user_stack(pid, registers, {});
}

// An event of one CPU may be read before an earlier event of another CPU. A mapping that is handled
// before its exec is dropped with those of the former program. The newest events stay unread.
void LiveStacks::follow(Duration but_for) {
  const KernelTime now = KernelClock::now();
  follow_until(now - but_for);
  python_.look_at_new(*resolver_, now);
  java_.look(*resolver_, now);
  images_.keep_perf_maps(now);
}

void LiveStacks::follow_until(KernelTime until) {
  if (events_)
    events_->drain(until, [this](const ProcessEvent& event) {
      images_.handle(event);
      note_name(event);
      python_.note(event);
      java_.note(event);
    });
}

/// The maps of a process may be read only now, after `at`: the events up to now have the changes.
void LiveStacks::follow_image(pid_t pid, KernelTime at) {
  follow_until(at);
  images_.image_of(pid, at);
  if (images_.was_read_later(pid, at)) follow_until(KernelClock::now());
}

Stack LiveStacks::kernel_stack(std::span<const std::uint64_t> addresses) {
  return resolver_->kernel_stack(addresses).frames;
}

StackNamer::UserStack LiveStacks::user_stack(std::uint32_t pid, const user_registers& registers,
                                             const UserCopy& copy, KernelTime at) {
  follow_image(static_cast<pid_t>(pid), at);
  python_.look_at(static_cast<pid_t>(pid), *resolver_);
  ResolvedStack stack = resolver_->user_stack(static_cast<pid_t>(pid), registers, copy, at);
  std::string end = end_of(stack);
  return {.frames = std::move(stack.frames), .end = std::move(end)};
}

/// Keeps thread names from the kernel's events: a thread may have ended when its name is needed.
void LiveStacks::note_name(const ProcessEvent& event) {
  if (names_.size() >= thread_names_kept) names_.clear();
  const auto tid = static_cast<std::uint32_t>(event.tid);
  if (event.kind == ProcessEvent::Kind::exec || event.kind == ProcessEvent::Kind::name)
    names_[tid] = event.text;
  else if (event.kind == ProcessEvent::Kind::fork)
    names_.erase(tid);  // a new thread has the tid now
}

std::string LiveStacks::thread_name(std::uint32_t, std::uint32_t tid) {
  follow();
  if (const auto known = names_.find(tid); known != names_.end()) return known->second;
  std::ifstream file(fmt::format("/proc/{}/comm", tid), std::ios::binary);
  std::string comm;
  std::getline(file, comm);
  if (!comm.empty()) names_[tid] = comm;
  return comm;
}

std::vector<LiveStacks::MappedFile> LiveStacks::files_of(std::uint32_t pid, KernelTime at) {
  constexpr std::size_t max_files = 1u << 16;
  std::vector<MappedFile> files;
  follow_image(static_cast<pid_t>(pid), at);
  const auto image = images_.image_of(static_cast<pid_t>(pid), at);
  if (!image) return files;
  for (const ProcessImage::Entry& entry : image->entries()) {
    const Mapping& mapping = entry.mapping;
    if (!mapping.is_file()) continue;
    const Fd fd = images_.open(*image, mapping, static_cast<pid_t>(pid));
    struct stat status{};
    if (!fd || fstat(fd.get(), &status) != 0) continue;
    if (file_numbers_.size() >= max_files) break;
    const FileIdentity identity{status.st_dev, status.st_ino,
                                static_cast<std::uint64_t>(status.st_size),
                                static_cast<std::uint64_t>(status.st_ctim.tv_sec),
                                static_cast<std::uint64_t>(status.st_ctim.tv_nsec)};
    const auto [found, is_new] = file_numbers_.try_emplace(identity, file_numbers_.size() + 1);
    files.push_back({mapping.start, mapping.end, mapping.file_offset, found->second});
  }
  return files;
}

std::vector<std::string> LiveStacks::notes() const {
  std::vector<std::string> notes;
  const Resolver::Cost& cost = resolver_->cost();
  if (cost.failed > 0 && without_sandbox_.empty())
    notes.push_back(fmt::format("stacks that the resolver gave up on: {}", grouped(cost.failed)));
  if (cost.unknown_processes > 0)
    notes.push_back(
        fmt::format("stacks of processes that ended before their mappings were read: {}",
                    grouped(cost.unknown_processes)));
  if (!without_sandbox_.empty())
    notes.push_back("user stacks have no names, for want of a sandbox: " + without_sandbox_);
  if (const std::uint64_t refused = served_devices().refused(); refused > 0)
    notes.push_back(fmt::format(
        "files of programs that another process or host serves (FUSE, NFS and their like) are "
        "not read: {}",
        counted(refused, "time")));
  for (std::string& note : python_.notes()) notes.push_back(std::move(note));
  if (!without_events_.empty())
    notes.push_back("processes that end early have no user stacks: " + without_events_);
  return notes;
}

}  // namespace overdue
