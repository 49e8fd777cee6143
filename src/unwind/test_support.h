#pragma once

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "unwind/unwinder.h"

namespace overdue::unwind_test {

inline const std::string fixtures = OVERDUE_UNWIND_FIXTURES;

/// The state of a thread that the test has stopped. `snapshot` borrows `bytes`.
struct Captured {
  std::vector<std::byte> bytes;
  StackSnapshot snapshot;
};

inline Registers registers_of(const user_regs_struct& from) {
  Registers registers;
  const std::pair<Register, unsigned long long> all[] = {
      {Register::rax, from.rax}, {Register::rdx, from.rdx}, {Register::rcx, from.rcx},
      {Register::rbx, from.rbx}, {Register::rsi, from.rsi}, {Register::rdi, from.rdi},
      {Register::rbp, from.rbp}, {Register::rsp, from.rsp}, {Register::r8, from.r8},
      {Register::r9, from.r9},   {Register::r10, from.r10}, {Register::r11, from.r11},
      {Register::r12, from.r12}, {Register::r13, from.r13}, {Register::r14, from.r14},
      {Register::r15, from.r15}, {Register::rip, from.rip}};
  for (const auto& [which, value] : all) registers.set(which, value);
  return registers;
}

/// Memory of a process from `address` upwards, at most `limit` bytes, up to the first unmapped
/// page.
inline std::vector<std::byte> memory_of(pid_t tid, std::uint64_t address, std::size_t limit) {
  const Fd memory(open(fmt::format("/proc/{}/mem", tid).c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<std::byte> bytes(limit);
  std::size_t have = 0;
  while (have < limit) {
    const std::uint64_t at = address + have;
    const std::size_t size = std::min<std::size_t>(limit - have, 4096 - at % 4096);
    if (pread(memory.get(), bytes.data() + have, size, static_cast<off_t>(at)) !=
        static_cast<ssize_t>(size))
      break;
    have += size;
  }
  bytes.resize(have);
  return bytes;
}

/// Copies a thread in a ptrace stop of this process, with at most `limit` bytes of its stack.
inline Captured capture(pid_t tid, std::size_t limit = 256u << 10) {
  Captured captured;
  user_regs_struct registers{};
  if (ptrace(PTRACE_GETREGS, tid, nullptr, &registers) != 0) return captured;
  captured.snapshot.registers = registers_of(registers);
  captured.bytes = memory_of(tid, registers.rsp, limit);
  captured.snapshot.stack = StackCopy({{.address = registers.rsp, .bytes = captured.bytes}});
  return captured;
}

/// The registers of a thread in a ptrace stop of this process, as in a span's record; all 0 for
/// another thread.
inline user_registers registers_of(pid_t tid) {
  user_regs_struct from{};
  if (ptrace(PTRACE_GETREGS, tid, nullptr, &from) != 0) return {};
  return {.rax = from.rax,
          .rdx = from.rdx,
          .rcx = from.rcx,
          .rbx = from.rbx,
          .rsi = from.rsi,
          .rdi = from.rdi,
          .rbp = from.rbp,
          .rsp = from.rsp,
          .r8 = from.r8,
          .r9 = from.r9,
          .r10 = from.r10,
          .r11 = from.r11,
          .r12 = from.r12,
          .r13 = from.r13,
          .r14 = from.r14,
          .r15 = from.r15,
          .rip = from.rip};
}

/// Like capture(), as in a span's record.
inline Captured capture_span(pid_t tid, std::size_t limit = 16u << 10) {
  Captured captured;
  const user_registers registers = registers_of(tid);
  if (registers.rip == 0) return captured;
  captured.bytes = memory_of(tid, registers.rsp - USER_RED_ZONE, limit);
  captured.snapshot = snapshot_of(registers, captured.bytes);
  return captured;
}

/// A program that the test starts. The program ends with this object, and so do the processes that
/// it has started: a process that lived on would hold the output that it has inherited, and a
/// reader of the test's output would wait for it. After `most`, the program is killed, so that
/// every wait for it ends.
class Child {
 public:
  /// `is_traced`: the program stops at its execve, and this process traces it.
  explicit Child(std::vector<std::string> arguments, bool is_traced = false,
                 std::chrono::seconds most = std::chrono::seconds(60)) {
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      setpgid(0, 0);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (is_traced) ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      const int nowhere = open("/dev/null", O_RDWR);
      for (const int standard : {0, 1, 2}) dup2(nowhere, standard);
      execvp(argv[0], argv.data());
      _exit(127);
    }
    setpgid(pid_, pid_);  // parent or child, whichever is first
    watch_ = std::jthread([this, most](const std::stop_token& stop) {
      std::mutex mutex;
      std::unique_lock lock(mutex);
      std::condition_variable_any ended;
      ended.wait_for(lock, stop, most, [] { return false; });
      if (stop.stop_requested()) return;
      was_late_ = true;
      kill(-pid_, SIGKILL);
    });
    if (is_traced) waitpid(pid_, nullptr, 0);
  }
  ~Child() {
    watch_.request_stop();
    watch_.join();
    EXPECT_FALSE(was_late_) << "it did not end, or stop, when it should have";
    kill(-pid_, SIGKILL);
    // A process ends when its last thread does, and a traced thread when its tracer has seen its
    // end. After a wait for the process, no process has its id.
    for (int status; kill(pid_, 0) == 0;) {
      const pid_t ended = waitpid(-1, &status, __WALL);
      if (ended < 0 || (ended == pid_ && (WIFEXITED(status) || WIFSIGNALED(status)))) break;
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
  std::atomic<bool> was_late_ = false;
  std::jthread watch_;
};

inline std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> tids;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), error))
    tids.push_back(std::atoi(entry.path().filename().c_str()));
  return tids;
}

/// Waits until all threads of the process sleep and stay asleep; false if they do not.
inline bool wait_until_still(pid_t pid) {
  std::string before;
  int same = 0;
  for (int tries = 0; tries < 2000 && same < 20; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::string now;
    for (const pid_t tid : threads_of(pid)) {
      std::ifstream file(fmt::format("/proc/{}/task/{}/status", pid, tid));
      for (std::string line; std::getline(file, line);)
        if (line.starts_with("State:") || line.find("ctxt_switches:") != std::string::npos)
          now += line;
    }
    const bool sleeps = !now.empty() && now.find("State:\tR") == std::string::npos &&
                        now.find("State:\tD") == std::string::npos;
    same = sleeps && now == before ? same + 1 : 0;
    before = now;
  }
  return same == 20;
}

/// The lines that a command prints within four minutes.
class Lines {
 public:
  explicit Lines(const std::string& command)
      : pipe_(popen(("timeout -k 1 240 " + command + " 2>/dev/null").c_str(), "re")),
        line_(65536) {}
  ~Lines() {
    const int status = pipe_ ? pclose(pipe_) : -1;
    EXPECT_FALSE(status < 0 || WEXITSTATUS(status) == 124) << "no end";
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  /// Null at the end.
  const char* next() {
    return pipe_ ? fgets(line_.data(), static_cast<int>(line_.size()), pipe_) : nullptr;
  }

 private:
  FILE* pipe_;
  std::vector<char> line_;
};

/// The names of a stack, as a report prints them.
inline std::vector<std::string> names_of(Symbolizer& symbolizer, Process& process,
                                         const UnwoundStack& stack) {
  std::vector<std::string> names;
  for (const UnwoundFrame& frame : stack.frames)
    names.push_back(to_text(symbolizer.user_frame(process, frame.address, frame.kind)));
  return names;
}

}  // namespace overdue::unwind_test
