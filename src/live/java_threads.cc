#include "live/java_threads.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/read_text.h"
#include "base/text.h"
#include "base/thread_rights.h"

namespace overdue {
namespace {

constexpr std::size_t cut_name = 15, machines_max = 256, threads_max = 65'536, asked_at_once = 256;
constexpr unsigned tries_max = 3;
constexpr Duration look_every = std::chrono::seconds(1);
constexpr int looking_share = 50;

}  // namespace

std::optional<std::uint32_t> id_in_namespace(std::string_view status) {
  constexpr std::string_view title = "\nNSpid:";
  const std::size_t at = status.find(title);
  if (at == status.npos) return std::nullopt;
  std::string_view line = status.substr(at + title.size());
  line = line.substr(0, line.find('\n'));
  return parse_u32(line.substr(line.find_last_of(" \t") + 1));
}

void JavaThreads::note_target(const std::vector<std::uint32_t>& pids) {
  const ReadRights rights;
  const bool is_whole_machine = pids.empty();
  for (const std::uint32_t pid : is_whole_machine ? proc_.processes() : pids) {
    if (machines_.size() >= machines_max) return;
    std::error_code error;
    if (is_whole_machine &&
        std::filesystem::read_symlink(proc_.root() / std::to_string(pid) / "exe", error)
                .filename() != "java")
      continue;
    machines_.insert(static_cast<pid_t>(pid));
  }
}

void JavaThreads::note(const ProcessEvent& event) {
  if (event.kind == ProcessEvent::Kind::exec) machines_.erase(event.pid);
  if (event.kind == ProcessEvent::Kind::mapping && machines_.size() < machines_max &&
      may_be_jvm({.inode = 1, .path = event.text}))
    machines_.insert(event.pid);
}

void JavaThreads::look(Resolver& resolver, KernelTime now) {
  if (now < next_ || machines_.empty()) return;
  std::erase_if(machines_, [&](pid_t pid) { return !look_at(pid, resolver); });
  const KernelTime end = KernelClock::now();
  next_ = end + std::max(look_every, looking_share * (end - now));
}

/// The threads of the process whose names may be cut, with their ids in its PID namespace. `tids`:
/// from those ids to ours.
std::vector<NamedThread> JavaThreads::new_threads(pid_t pid,
                                                  std::map<std::uint32_t, std::uint32_t>& tids) {
  constexpr std::size_t status_max = 4096;
  std::vector<NamedThread> cut;
  const std::filesystem::path tasks = proc_.root() / std::to_string(pid) / "task";
  for (const std::uint32_t tid : proc_.threads_of(static_cast<std::uint32_t>(pid))) {
    std::string comm = read_text(tasks / std::to_string(tid) / "comm", 64).value_or("");
    if (comm.ends_with('\n')) comm.pop_back();
    if (comm.size() < cut_name) continue;
    if (threads_.size() >= threads_max) threads_.clear();  // most have ended
    Thread& thread = threads_[tid];
    if (thread.comm != comm) thread = {.comm = comm, .name = {}};
    // A name may change behind the bytes that the kernel keeps, so known names are read again.
    if (thread.name.empty() && thread.tries >= tries_max) continue;
    const auto status = read_text(tasks / std::to_string(tid) / "status", status_max);
    const auto id = status ? id_in_namespace(*status) : std::nullopt;
    if (!id) continue;
    ++thread.tries;
    tids[*id] = tid;
    cut.push_back({.tid = *id, .name = std::move(comm)});
  }
  return cut;
}

/// False if the process is no virtual machine of Java, or has ended.
bool JavaThreads::look_at(pid_t pid, Resolver& resolver) {
  if (!resolver.runs_java(pid)) return false;
  const ReadRights rights;
  std::map<std::uint32_t, std::uint32_t> tids;
  const std::vector<NamedThread> cut = new_threads(pid, tids);
  for (std::span<const NamedThread> rest = cut; !rest.empty();) {
    const auto asked = rest.first(std::min(rest.size(), asked_at_once));
    rest = rest.subspan(asked.size());
    for (NamedThread& named : resolver.java_thread_names(pid, asked)) {
      const auto tid = tids.find(named.tid);
      if (tid == tids.end()) continue;
      Thread& thread = threads_[tid->second];
      if (!named.name.starts_with(thread.comm) || named.name == thread.name) continue;
      thread.name = std::move(named.name);
      has_news_ = true;
    }
  }
  return true;
}

void JavaThreads::add_to(Names& names) const {
  for (const auto& [tid, thread] : threads_)
    if (!thread.name.empty()) names.threads[tid] = thread.name;
}

}  // namespace overdue
