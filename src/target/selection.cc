#include "target/selection.h"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "target/cpu_list.h"
#include "target/proc.h"

namespace overdue {
namespace {

constexpr std::size_t comm_size = 15;  // characters of a thread's name that the kernel keeps

/// Parses the values of --pid or --tid: `what` is "pid" or "tid". Commas, blanks and newlines
/// separate the ids: `-p "$(pgrep -x app)"`.
std::vector<std::uint32_t> parse_ids(const std::vector<std::string>& values,
                                     std::string_view what) {
  std::vector<std::uint32_t> ids;
  for (std::string value : values) {
    std::ranges::replace_if(value, [](char c) { return c == ' ' || c == '\n' || c == '\t'; }, ',');
    const auto parts = split(value, ',');
    if (parts.empty()) throw Error("--{} is empty", what).exit_status(2);
    for (const std::string_view part : parts) {
      const auto id = parse_u32(part);
      const bool number = part.find_first_not_of("0123456789") == std::string_view::npos;
      if (number && !id)  // too large for any kernel; resolve_target() checks this kernel's limit
        throw Error("no process {}: no Linux machine has process ids this large", part);
      if (!id)
        throw Error("'{}' is not a {}", printable(part), what == "pid" ? "process id" : "thread id")
            .hint("use -n to select processes by name")
            .exit_status(2);
      if (*id == 0)
        throw Error("0 is not a {}: it stands for the idle threads, which make no system calls",
                    what == "pid" ? "process id" : "thread id")
            .exit_status(2);
      ids.push_back(*id);
    }
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::vector<std::string> parse_words(const std::vector<std::string>& values,
                                     std::string_view option) {
  std::vector<std::string> words;
  for (const std::string& value : values) {
    const auto parts = split(value, ',');
    if (parts.empty()) throw Error("{} is empty", option).exit_status(2);
    words.insert(words.end(), parts.begin(), parts.end());
  }
  return words;
}

/// The one kind of target that was given.
TargetKind chosen_kind(const TargetOptions& options) {
  const std::array<std::pair<bool, TargetKind>, 7> given{{
      {!options.command.empty(), TargetKind::command},
      {!options.pids.empty(), TargetKind::pid},
      {!options.tids.empty(), TargetKind::tid},
      {!options.names.empty(), TargetKind::name},
      {!options.cgroups.empty(), TargetKind::cgroup},
      {!options.containers.empty(), TargetKind::container},
      {options.all, TargetKind::all},
  }};
  std::vector<TargetKind> kinds;
  for (const auto& [present, kind] : given)
    if (present) kinds.push_back(kind);
  if (kinds.size() > 1)
    throw Error("several targets given ({} and {}): only one kind can be measured at a time",
                target_kind_name(kinds[0]), target_kind_name(kinds[1]))
        .exit_status(2);
  if (kinds.empty() && options.cpus) return TargetKind::all;
  if (kinds.empty())
    throw Error("nothing to measure: no target given")
        .hint(
            "give a program after --, or -p PID, -t TID, -n NAME, -c CGROUP, --container NAME, "
            "--cpu LIST, or -a for all")
        .exit_status(2);
  return kinds.front();
}

[[noreturn]] void throw_no_process(std::uint32_t id, std::string_view what, const Proc& proc) {
  if (const std::uint32_t limit = proc.pid_max(); id >= limit)
    throw Error("no {} {}: ids on this machine end at {}", what, id, limit - 1)
        .hint("kernel.pid_max sets that limit; ps -e lists the processes there are");
  throw Error("no {} {}: it has ended, or never was", what, id)
      .hint(what == "process" ? "ps -e lists the processes there are"
                              : "ps -eL lists the threads there are");
}

std::string described(const ThreadStatus& thread) {
  return fmt::format("{} ({})", thread.tid, printable(thread.comm));
}

void refuse_ourselves(std::uint32_t pid, const TargetSources& sources) {
  if (pid == sources.own_pid)
    throw Error("process {} is this overdue itself, which does not measure itself", pid)
        .hint("to measure another overdue, start it separately and give its pid")
        .exit_status(2);
}

void note_kernel_thread(const ThreadStatus& thread, std::vector<std::string>& notes) {
  if (thread.kernel_thread)
    notes.push_back(
        fmt::format("{} is a kernel thread: it makes no system calls", described(thread)));
}

/// Whether every thread of the process has ended. If only the leader has ended, the other threads
/// run on.
bool whole_process_ended(const Proc& proc, const ThreadStatus& leader) {
  if (!leader.has_ended()) return false;
  for (const std::uint32_t tid : proc.threads_of(leader.pid)) {
    const auto thread = proc.thread(tid);
    if (thread && !thread->has_ended()) return false;
  }
  return true;
}

void check_process(std::uint32_t pid, const Proc& proc, const TargetSources& sources,
                   std::vector<std::string>& notes) {
  const auto thread = proc.thread(pid);
  if (!thread) throw_no_process(pid, "process", proc);
  refuse_ourselves(thread->pid, sources);
  if (thread->pid != pid) {
    const auto process = proc.thread(thread->pid);
    throw Error("{} is a thread of process {}, not a process", described(*thread),
                process ? described(*process) : std::to_string(thread->pid))
        .hint(fmt::format("-t {} measures this thread, -p {} its whole process", pid, thread->pid))
        .exit_status(2);
  }
  if (whole_process_ended(proc, *thread)) {
    const auto parent = proc.thread(thread->parent_pid);
    throw Error("process {} has exited and is waiting for its parent {} to collect it",
                described(*thread),
                parent ? described(*parent) : std::to_string(thread->parent_pid));
  }
  note_kernel_thread(*thread, notes);
}

void check_thread(std::uint32_t tid, const Proc& proc, const TargetSources& sources,
                  std::vector<std::string>& notes) {
  const auto thread = proc.thread(tid);
  if (!thread) throw_no_process(tid, "thread", proc);
  refuse_ourselves(thread->pid, sources);
  if (thread->has_ended()) throw Error("thread {} has exited", described(*thread));
  note_kernel_thread(*thread, notes);
}

/// comm cuts a long program name; the program name of the command line then counts too.
bool name_matches(const std::string& glob, const ThreadStatus& thread, const Proc& proc) {
  if (glob_matches(glob, thread.comm)) return true;
  return thread.tid == thread.pid && thread.comm.size() >= comm_size &&
         glob_matches(glob, proc.program_name(thread.pid));
}

void resolve_names(const std::vector<std::string>& globs, const Proc& proc,
                   const TargetSources& sources, ResolvedTarget& target) {
  std::vector<bool> used(globs.size());
  std::vector<std::string> comms;
  const auto matches = [&](const ThreadStatus& thread) {
    bool any = false;
    for (std::size_t i = 0; i < globs.size(); ++i)
      if (name_matches(globs[i], thread, proc)) any = used[i] = true;
    return any;
  };
  for (const std::uint32_t pid : proc.processes()) {
    const auto leader = pid == sources.own_pid ? std::nullopt : proc.thread(pid);
    if (!leader || leader->pid != pid || whole_process_ended(proc, *leader)) continue;
    comms.push_back(leader->comm);
    const bool whole = matches(*leader);
    if (whole) {
      target.pids.push_back(pid);
      if (std::none_of(globs.begin(), globs.end(),
                       [&](const auto& glob) { return glob_matches(glob, leader->comm); }))
        target.pids_by_program.push_back(pid);
    }
    // The threads of a matching process are checked too: another glob may match only one of them.
    for (const std::uint32_t tid : proc.threads_of(pid)) {
      const auto thread = tid == pid ? std::nullopt : proc.thread(tid);
      if (thread && !thread->has_ended() && matches(*thread) && !whole) target.tids.push_back(tid);
    }
  }
  const std::vector<std::string_view> candidates(comms.begin(), comms.end());
  for (std::size_t i = 0; i < globs.size(); ++i) {
    if (used[i]) continue;
    const std::string_view guess = nearest(globs[i], candidates);
    target.notes.push_back(fmt::format(
        "no process or thread was named '{}' when measuring began{}", printable(globs[i]),
        guess.empty() ? std::string{} : fmt::format(": did you mean '{}'?", printable(guess))));
  }
  std::sort(target.tids.begin(), target.tids.end());
}

/// A comma separates cgroups, but cgroup paths may contain commas (/sys/fs/cgroup/cpu,cpuacct): the
/// whole text is tried first.
void resolve_cgroups(const std::vector<std::string>& given, const Cgroups& cgroups,
                     ResolvedTarget& target) {
  for (const std::string& text : given) {
    if (auto whole = cgroups.try_find(text)) {
      target.cgroups.push_back(std::move(*whole));
      continue;
    }
    const auto parts = split(text, ',');
    if (parts.size() < 2)
      target.cgroups.push_back(cgroups.find(text));
    else
      for (const std::string_view part : parts) target.cgroups.push_back(cgroups.find(part));
  }
  for (const CgroupTarget& cgroup : target.cgroups)
    if (!cgroup.note.empty()) target.notes.push_back(cgroup.note);
}

void resolve_containers(const std::vector<std::string>& wanted, const Proc& proc,
                        const Cgroups& cgroups, const TargetSources& sources,
                        ResolvedTarget& target) {
  for (const std::string& name : wanted) {
    ContainerTarget container = find_container(name, proc, cgroups, sources.containers);
    target.cgroups.push_back(std::move(container.cgroup));
  }
}

std::vector<std::string> values_of(const TargetSelection& selection) {
  std::vector<std::string> values;
  switch (selection.kind) {
    case TargetKind::command:
      return selection.argv;
    case TargetKind::name:
      return selection.names;
    case TargetKind::cgroup:
      return selection.cgroups;
    case TargetKind::container:
      return selection.containers;
    case TargetKind::pid:
    case TargetKind::tid:
      for (const std::uint32_t id :
           selection.kind == TargetKind::pid ? selection.pids : selection.tids)
        values.push_back(std::to_string(id));
      break;
    case TargetKind::all:
      break;
  }
  return values;
}

}  // namespace

std::string_view target_kind_name(TargetKind kind) {
  switch (kind) {
    case TargetKind::command:
      return "command";
    case TargetKind::pid:
      return "pid";
    case TargetKind::tid:
      return "tid";
    case TargetKind::name:
      return "name";
    case TargetKind::cgroup:
      return "cgroup";
    case TargetKind::container:
      return "container";
    case TargetKind::all:
      return "all";
  }
  return "?";
}

TargetSelection parse_target(const TargetOptions& options, const TargetSources& sources) {
  TargetSelection selection;
  selection.kind = chosen_kind(options);
  if (options.user && selection.kind != TargetKind::command)
    throw Error("--user needs a program to start: it is given after --").exit_status(2);
  selection.pids = parse_ids(options.pids, "pid");
  selection.tids = parse_ids(options.tids, "tid");
  selection.names = parse_words(options.names, "--name");
  selection.cgroups = options.cgroups;  // commas: see resolve_cgroups()
  selection.containers = parse_words(options.containers, "--container");
  selection.argv = options.command;
  selection.follow = !options.no_follow;
  selection.user = options.user;
  if (options.cpus) {
    selection.cpus_text = *options.cpus;
    selection.cpus = parse_cpu_list(*options.cpus, possible_cpus(sources.sys));
  }
  return selection;
}

ResolvedTarget resolve_target(const TargetSelection& selection, const TargetSources& sources) {
  const Proc proc(sources.proc);
  ResolvedTarget target;
  switch (selection.kind) {
    case TargetKind::command:
    case TargetKind::all:
      break;
    case TargetKind::pid:
      for (const std::uint32_t pid : selection.pids)
        check_process(pid, proc, sources, target.notes);
      target.pids = selection.pids;
      break;
    case TargetKind::tid:
      for (const std::uint32_t tid : selection.tids) check_thread(tid, proc, sources, target.notes);
      target.tids = selection.tids;
      break;
    case TargetKind::name:
      resolve_names(selection.names, proc, sources, target);
      break;
    case TargetKind::cgroup:
      resolve_cgroups(selection.cgroups, Cgroups(sources.proc), target);
      break;
    case TargetKind::container:
      resolve_containers(selection.containers, proc, Cgroups(sources.proc), sources, target);
      break;
  }
  target.info.kind = target_kind_name(selection.kind);
  target.info.values = values_of(selection);
  target.info.pids = target.pids;
  target.info.follows_children = selection.follow;
  target.info.cpus = selection.cpus_text;
  return target;
}

std::vector<std::uint32_t> threads_of(std::uint32_t pid, const TargetSources& sources) {
  return Proc(sources.proc).threads_of(pid);
}

std::optional<Fd> watch_process(std::uint32_t pid) {
  Fd fd(
      static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0)));  // CLOEXEC by itself
  if (fd) return fd;
  if (errno == ESRCH || errno == EINVAL) return std::nullopt;
  check_errno(-1, "cannot watch process {}", pid);
  return std::nullopt;
}

}  // namespace overdue
