#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/fd.h"
#include "kernel/features.h"

// For tests of the kernel side: processes to measure, and the BPF objects that the kernel holds.
namespace overdue {

/// getpid through the entry for 32-bit calls. Its number there, 20, is that of writev in 64-bit
/// calls. Some kernels have no such entry: the instruction then kills the process.
inline int getpid_by_int80() {
  int result = -1;
#ifdef __x86_64__
  __asm__ volatile("int $0x80" : "=a"(result) : "0"(20) : "memory", "r8", "r9", "r10", "r11");
#endif
  return result;
}

inline bool has_32_bit_entry() {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    _exit(getpid_by_int80() == getpid() ? 0 : 1);
  }
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/// Skips a test if the kernel, or missing rights, do not allow measuring.
class KernelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static const std::string obstacle = what_is_missing();
    if (!obstacle.empty()) GTEST_SKIP() << obstacle;
  }

 private:
  static std::string what_is_missing() {
    if (geteuid() != 0) return "needs root";
    const Kernel kernel;
    for (const Support& support : {kernel.privileges(), kernel.btf_tracepoints(),
                                   kernel.task_storage(), kernel.task_iterator()})
      if (!support.yes) return "this kernel cannot measure: " + support.missing;
    return {};
  }
};

/// A forked process that does `work`, in steps that the test starts one by one. Killed and reaped
/// by the destructor. Create it while the test has one thread.
class Child {
 public:
  using Work = std::function<void(Child&)>;

  explicit Child(Work work, const std::string& comm = "child") {
    int to_child[2], to_parent[2];
    check_errno(pipe2(to_child, O_CLOEXEC), "cannot make a pipe");
    check_errno(pipe2(to_parent, O_CLOEXEC), "cannot make a pipe");
    pid_ = check_errno(fork(), "cannot fork");
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      prctl(PR_SET_NAME, comm.c_str());
      close(to_child[1]);
      close(to_parent[0]);
      in_ = Fd(to_child[0]);
      out_ = Fd(to_parent[1]);
      step();
      work(*this);
      _exit(0);
    }
    close(to_child[0]);
    close(to_parent[1]);
    in_ = Fd(to_parent[0]);
    out_ = Fd(to_child[1]);
    wait_step();
    // A measurement that begins from now on finds the child in this call.
    EXPECT_TRUE(wait_until_in(SYS_read)) << "the child does not wait for its first step";
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ <= 0 || reaped_) return;
    kill(pid_, SIGKILL);
    end();
  }

  /// In the child: signals the step to the test, and waits until the test calls go().
  void step() {
    char byte = 's';
    if (write(out_.get(), &byte, 1) != 1 || read(in_.get(), &byte, 1) != 1) _exit(3);
  }

  /// In the test: lets the child continue after its step.
  void go() {
    const char byte = 'g';
    EXPECT_EQ(write(out_.get(), &byte, 1), 1);
  }
  /// In the test: returns when the child is at its next step. The test fails if the child has
  /// ended.
  void wait_step() {
    char byte = 0;
    EXPECT_EQ(read(in_.get(), &byte, 1), 1) << "the child has ended early";
  }
  /// One step and back.
  void run_step() {
    go();
    wait_step();
  }
  /// Waits until the child ends; returns its status from waitpid(2).
  int end() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
    reaped_ = true;
    return status;
  }
  /// Whether the child has ended; if so, reaps it.
  bool has_ended() { return reaped_ || (reaped_ = waitpid(pid_, nullptr, WNOHANG) == pid_); }
  /// Waits until thread `tid`, or else the main thread, is inside the system call `nr`.
  bool wait_until_in(long nr, std::uint32_t tid = 0) const {
    const std::string path = fmt::format("/proc/{}/task/{}/syscall", pid_, tid ? tid : pid());
    for (int tries = 0; tries < 10'000; ++tries) {
      std::ifstream file(path);
      if (long in = -1; file >> in && in == nr) return true;
      usleep(1'000);
    }
    return false;
  }

  std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }

 private:
  pid_t pid_ = -1;
  bool reaped_ = false;
  Fd in_, out_;
};

/// A value that the test shares with its children.
template <typename T>
class Shared {
 public:
  Shared() {
    void* address =
        mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED) throw Error("cannot share memory: {}", errno_text(errno));
    value_ = new (address) T();
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { munmap(value_, sizeof(T)); }
  T* operator->() const { return value_; }
  T& operator*() const { return *value_; }

 private:
  T* value_;
};

inline void call_times(long nr, int times) {
  for (int i = 0; i < times; ++i) syscall(nr);
}

inline std::uint32_t this_tid() {
  return static_cast<std::uint32_t>(syscall(SYS_gettid));
}

inline bool run_on_cpu(unsigned cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

/// Pins the calling thread to `cpu` until destroyed.
class OnCpu {
 public:
  explicit OnCpu(unsigned cpu)
      : could_(sched_getaffinity(0, sizeof before_, &before_) == 0 && run_on_cpu(cpu)) {}
  OnCpu(const OnCpu&) = delete;
  OnCpu& operator=(const OnCpu&) = delete;
  ~OnCpu() {
    if (could_) sched_setaffinity(0, sizeof before_, &before_);
  }
  /// False if the thread may not run on `cpu`; its CPUs are then unchanged.
  bool could() const { return could_; }

 private:
  cpu_set_t before_{};
  bool could_;
};

/// Kernel ids of the BPF programs, maps and links for which this process has descriptors.
struct BpfObjects {
  std::set<std::uint32_t> programs, maps, links;
  std::size_t size() const { return programs.size() + maps.size() + links.size(); }
};

inline BpfObjects own_bpf_objects() {
  BpfObjects objects;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
    std::ifstream file(entry.path());
    std::uint32_t id = 0;
    bool is_link = false;
    std::set<std::uint32_t> programs;
    for (std::string word; file >> word;) {
      if (word == "prog_id:" && file >> id) programs.insert(id);
      if (word == "map_id:" && file >> id) objects.maps.insert(id);
      if (word == "link_id:" && file >> id) {
        objects.links.insert(id);
        is_link = true;
      }
    }
    if (!is_link) objects.programs.insert(programs.begin(), programs.end());
  }
  return objects;
}

/// The number of `objects` that the kernel still holds after a generous wait: the kernel frees some
/// objects only after a grace period.
inline std::size_t still_held(const BpfObjects& objects) {
  const auto exists = [](int fd) { return static_cast<bool>(Fd(fd)); };
  std::size_t held = 0;
  for (int tries = 0; tries < 200; ++tries) {
    held = 0;
    for (const std::uint32_t id : objects.programs) held += exists(bpf_prog_get_fd_by_id(id));
    for (const std::uint32_t id : objects.maps) held += exists(bpf_map_get_fd_by_id(id));
    for (const std::uint32_t id : objects.links) held += exists(bpf_link_get_fd_by_id(id));
    if (held == 0) return 0;
    usleep(50'000);
  }
  return held;
}

/// A cgroup made for a test. The destructor removes it once its processes have ended.
class TestCgroup {
 public:
  explicit TestCgroup(std::filesystem::path directory) : directory_(std::move(directory)) {
    std::filesystem::create_directory(directory_);
  }
  TestCgroup(const TestCgroup&) = delete;
  TestCgroup& operator=(const TestCgroup&) = delete;
  ~TestCgroup() {
    // The processes are children that are being killed: the cgroup is empty a moment later.
    for (int tries = 0; tries < 100 && rmdir(directory_.c_str()) != 0 && errno == EBUSY; ++tries)
      usleep(20'000);
  }
  void add(std::uint32_t pid) const {
    std::ofstream file(directory_ / "cgroup.procs");
    file << pid << std::flush;
    EXPECT_TRUE(file.good()) << "cannot move a process into " << directory_;
  }
  const std::filesystem::path& directory() const { return directory_; }

 private:
  std::filesystem::path directory_;
};

}  // namespace overdue
