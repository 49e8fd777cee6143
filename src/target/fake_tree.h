#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace overdue {

/// For tests: a temporary directory with a fake /proc, /sys and cgroup file systems. The destructor
/// removes the directory.
class FakeTree {
 public:
  FakeTree() {
    std::string pattern = std::filesystem::temp_directory_path() / "overdue-test-XXXXXX";
    if (!mkdtemp(pattern.data())) throw std::runtime_error("cannot make a temporary directory");
    root_ = std::filesystem::canonical(pattern);
  }
  ~FakeTree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  FakeTree(const FakeTree&) = delete;
  FakeTree& operator=(const FakeTree&) = delete;

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path operator/(std::string_view path) const { return root_ / path; }

  void file(const std::filesystem::path& path, std::string_view text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << text;
  }
  void directory(const std::filesystem::path& path) const {
    std::filesystem::create_directories(root_ / path);
  }

  struct Thread {
    std::uint32_t tid = 0;
    std::uint32_t pid = 0;  ///< 0: same as `tid`
    std::uint32_t parent = 1;
    char state = 'S';
    bool kernel = false;
    std::string comm = "sleep";
    std::string command_line = {};
    std::string cgroup = {};
  };

  /// Adds a thread to proc/ as the kernel does: under its own id, and in its process's task/.
  void thread(const Thread& thread) const {
    const std::uint32_t pid = thread.pid == 0 ? thread.tid : thread.pid;
    const std::filesystem::path directory = fmt::format("proc/{}", thread.tid);
    std::string escaped;
    for (const char c : thread.comm) escaped += c == '\n' ? std::string("\\n") : std::string(1, c);
    file(directory / "status", fmt::format("Name:\t{}\nUmask:\t0022\nState:\t{} (x)\nTgid:\t{}\n"
                                           "Ngid:\t0\nPid:\t{}\nPPid:\t{}\nTracerPid:\t0\n",
                                           escaped, thread.state, pid, thread.tid, thread.parent));
    file(directory / "stat",
         fmt::format("{} ({}) {} {} 1 1 0 -1 {} 0 0 0 0", thread.tid, thread.comm, thread.state,
                     thread.parent, thread.kernel ? 2129984 : 4194304));
    file(directory / "comm", thread.comm + "\n");
    file(directory / "cmdline", thread.command_line);
    file(directory / "cgroup", thread.cgroup);
    this->directory(fmt::format("proc/{}/task/{}", pid, thread.tid));
  }

 private:
  std::filesystem::path root_;
};

}  // namespace overdue
