#include "live/python_programs.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/thread_rights.h"
#include "sinks/text_format.h"
#include "target/proc.h"

namespace overdue {
namespace {

constexpr std::size_t max_seen = 65536;
constexpr unsigned most_tries = 8;
constexpr Duration first_wait = std::chrono::milliseconds(40);  // twice as long each time: 5 s
constexpr int rest_per_look = 20;  // a file that takes long, as a hostile one may, has to wait

std::optional<python_program> program_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid), std::ios::binary);
  std::string text;
  std::getline(file, text, '\0');
  return program_in_stat(text);
}

bool has_name_of_python(std::string_view path) {
  return may_be_python({.inode = 1, .path = path});
}

}  // namespace

std::optional<python_program> program_in_stat(std::string_view text) {
  constexpr std::size_t start_code = 23, end_code = 24, start_stack = 25;  // behind the name
  const std::size_t name_end = text.rfind(") ");
  if (name_end == std::string_view::npos) return std::nullopt;
  text.remove_prefix(name_end + 2);
  std::uint64_t values[start_stack + 1]{};
  for (std::size_t i = 0; i <= start_stack; ++i) {
    const std::string_view word = text.substr(0, text.find(' '));
    std::from_chars(word.data(), word.data() + word.size(), values[i]);
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  if (values[start_code] <= 1 || values[start_stack] == 0) return std::nullopt;
  return python_program{.start_code = values[start_code],
                        .end_code = values[end_code],
                        .start_stack = values[start_stack]};
}

void PythonPrograms::note_target(const std::vector<std::uint32_t>& pids) {
  if (!learn_) return;
  for (const std::uint32_t pid : pids) waiting_[static_cast<pid_t>(pid)] = {};
  if (!pids.empty()) return;
  const ReadRights rights;
  for (const std::uint32_t pid : Proc().processes()) {
    std::error_code error;
    const auto program = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid), error);
    if (!error && has_name_of_python(program.native()))
      waiting_[static_cast<pid_t>(pid)] = {.has_name = true};
  }
}

void PythonPrograms::note(const ProcessEvent& event) {
  if (!learn_) return;
  if (event.kind == ProcessEvent::Kind::exec) {
    seen_.erase(event.pid);
    waiting_.erase(event.pid);
  }
  if (event.kind == ProcessEvent::Kind::mapping && event.is_executable &&
      has_name_of_python(event.text))
    waiting_[event.pid] = {.has_name = true};
}

void PythonPrograms::look_at_new(Resolver& resolver, KernelTime now) {
  for (auto& [pid, due] : std::exchange(waiting_, {}))
    if (due.next > now)
      waiting_.emplace(pid, due);
    else
      look_or_try_later(pid, resolver, due);
}

void PythonPrograms::look_at(pid_t pid, Resolver& resolver) {
  if (learn_ && !seen_.contains(pid)) look_or_try_later(pid, resolver, {});
}

void PythonPrograms::look_or_try_later(pid_t pid, Resolver& resolver, Look done) {
  if (seen_.size() >= max_seen) seen_.clear();
  seen_.insert(pid);
  const KernelTime begin = KernelClock::now();
  const auto support = look(pid, resolver);
  const KernelTime end = KernelClock::now();
  const bool is_known = support && (support != PythonSupport::none || !done.has_name);
  if (!is_known && ++done.tries < most_tries && waiting_.size() < max_seen) {
    done.next = end + std::max<Duration>(first_wait * (1 << (done.tries - 1)),
                                         rest_per_look * (end - begin));
    waiting_[pid] = done;
    return;
  }
  unknown_versions_ += support == PythonSupport::version;
  free_threaded_ += support == PythonSupport::free_threaded;
  unreadable_ += !support && program_of(pid);
}

std::optional<PythonSupport> PythonPrograms::look(pid_t pid, Resolver& resolver) {
  if (kill(pid, 0) != 0 && errno == ESRCH) return PythonSupport::none;  // it has ended
  const auto before = program_of(pid);
  if (!before) return std::nullopt;
  const FoundPython found = resolver.python_of(pid);
  const auto program = program_of(pid);
  if (!program || found.support == PythonSupport::unreadable) return std::nullopt;
  const bool is_same = program->start_code == before->start_code &&
                       program->end_code == before->end_code &&
                       program->start_stack == before->start_stack;
  if (!is_same) return std::nullopt;
  if (found.support == PythonSupport::yes) learn_(*program, found.layout.runtime);
  return found.support;
}

std::vector<std::string> PythonPrograms::notes() const {
  std::vector<std::string> notes;
  const auto add = [&](std::uint64_t count, std::string_view why) {
    if (count > 0)
      notes.push_back(fmt::format("programs without Python functions in their stacks, {}: {}", why,
                                  grouped(count)));
  };
  add(unknown_versions_, "of a CPython that Overdue cannot read");
  add(free_threaded_, "of free-threaded CPython");
  add(unreadable_, "because their memory cannot be read");
  return notes;
}

}  // namespace overdue
