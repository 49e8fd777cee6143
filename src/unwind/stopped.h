#pragma once

#include <stdexcept>

#include "unwind/test_support.h"

namespace overdue::unwind_test {

/// A fixture, run until some thread of it is at an int3 or gets SIGSEGV.
class Stopped {
 public:
  Stopped(const std::string& program, const std::string& scenario)
      : Stopped(std::vector<std::string>{fixtures + "/" + program, scenario}) {}
  /// Runs a command that becomes a fixture.
  explicit Stopped(const std::vector<std::string>& command) : child_(command, true) {
    ptrace(PTRACE_SETOPTIONS, child_.pid(), nullptr,
           PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
    ptrace(PTRACE_CONT, child_.pid(), nullptr, nullptr);
    run_to_stop(command.back());
    if (auto read = ProcessMaps::read(tid)) space.emplace(tid, std::move(*read));
    if (auto read = ProcessMaps::read(tid)) maps = std::move(*read);
    process = Process::read(tid);
  }

  UnwoundStack unwind(std::size_t limit = 256u << 10) {
    const Captured captured = capture(tid, limit);
    return unwinder.unwind(*space, captured.snapshot);
  }
  /// The names up to main, or up to the function that a thread begins with.
  std::vector<std::string> names() { return names(unwind()); }
  std::vector<std::string> names(UnwoundStack unwound) {
    stack = std::move(unwound);
    auto all = names_of(symbolizer, *process, stack);
    for (std::string& name : all)  // the unlikely part of a function
      if (name.ends_with(".cold")) name.resize(name.size() - 5);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i] == "main" || all[i] == "thread_begin") {
        rest.assign(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end());
        all.resize(i + 1);
      }
    return all;
  }

  /// Kills the fixture; only the data that was read before remains.
  void end() {
    kill(child_.pid(), SIGKILL);
    for (int status = 0; waitpid(child_.pid(), &status, __WALL) > 0 && WIFSTOPPED(status);) {
    }
  }

  pid_t tid = 0;
  std::optional<AddressSpace> space;
  ProcessMaps maps;  ///< the same mappings again
  std::optional<Process> process;
  Unwinder unwinder;
  Symbolizer symbolizer;
  UnwoundStack stack;
  std::vector<std::string> rest;  ///< names above main

 private:
  void run_to_stop(const std::string& what) {
    for (int status = 0; true;) {
      tid = waitpid(-1, &status, __WALL);
      if (tid <= 0 || !WIFSTOPPED(status))
        throw std::runtime_error(fmt::format("{} did not stop: {:#x}", what, status));
      const int signal = WSTOPSIG(status);
      if ((signal == SIGTRAP && status >> 16 == 0) || signal == SIGSEGV) return;
      const bool is_ours = signal == SIGTRAP || signal == SIGSTOP;
      ptrace(PTRACE_CONT, tid, nullptr, is_ours ? 0 : signal);
    }
  }

  Child child_;
};

}  // namespace overdue::unwind_test
