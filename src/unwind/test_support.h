#pragma once

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "unwind/unwinder.h"

namespace overdue::unwind_test {

inline const std::string fixtures = OVERDUE_UNWIND_FIXTURES;

/// A thread stopped by us, copied. The snapshot borrows the bytes.
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

/// `tid` is in a ptrace stop of ours. At most `limit` bytes of the stack.
inline Captured capture(pid_t tid, std::size_t limit = 256u << 10) {
  Captured captured;
  user_regs_struct registers{};
  if (ptrace(PTRACE_GETREGS, tid, nullptr, &registers) != 0) return captured;
  captured.snapshot.registers = registers_of(registers);
  const Fd memory(open(fmt::format("/proc/{}/mem", tid).c_str(), O_RDONLY | O_CLOEXEC));
  captured.bytes.resize(limit);
  std::size_t have = 0;
  while (have < limit) {  // the end of the stack cuts it
    const std::uint64_t at = registers.rsp + have;
    const std::size_t size = std::min<std::size_t>(limit - have, 4096 - at % 4096);
    if (pread(memory.get(), captured.bytes.data() + have, size, static_cast<off_t>(at)) !=
        static_cast<ssize_t>(size))
      break;
    have += size;
  }
  captured.bytes.resize(have);
  captured.snapshot.stack = StackCopy({{.address = registers.rsp, .bytes = captured.bytes}});
  return captured;
}

/// A program of ours, ended with this.
class Child {
 public:
  /// `is_traced`: it stops at its execve, and stays ours.
  explicit Child(std::vector<std::string> arguments, bool is_traced = false) {
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      if (is_traced) ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      const int nowhere = open("/dev/null", O_RDWR);
      dup2(nowhere, 0);
      dup2(nowhere, 1);
      execvp(argv[0], argv.data());
      _exit(127);
    }
    if (is_traced) waitpid(pid_, nullptr, 0);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    // A process ends when its last thread does, and a traced thread when its tracer has seen it.
    for (int status; true;) {
      const pid_t ended = waitpid(-1, &status, __WALL);
      if (ended < 0 || (ended == pid_ && (WIFEXITED(status) || WIFSIGNALED(status)))) break;
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
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
