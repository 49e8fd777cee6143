#include "live/other_sides.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <tuple>

#include <gtest/gtest.h>

#include "live/lock_owner.h"

namespace overdue {
namespace {

const auto own_pid = static_cast<std::uint32_t>(getpid());

std::uint32_t own_tid() {
  return static_cast<std::uint32_t>(gettid());
}

/// Runs `wait` in another thread, and `look` once that thread sleeps in a call.
void while_waiting(const std::function<void()>& wait,
                   const std::function<void(std::uint32_t)>& look) {
  std::atomic<std::uint32_t> tid = 0;
  std::thread waiter([&] {
    tid = own_tid();
    wait();
  });
  for (bool sleeps = false; !sleeps;) {
    const auto call = tid == 0 ? std::nullopt : present_call(own_pid, tid);
    sleeps = call && call->number == SYS_futex;
    std::this_thread::yield();
  }
  look(tid);
  waiter.join();
}

class OtherSides : public testing::Test {
 protected:
  void SetUp() override {
    if (!present_call(own_pid, own_tid()) && access("/proc/self/syscall", R_OK) != 0)
      GTEST_SKIP() << "this kernel does not show the present call";
  }
};

TEST_F(OtherSides, OfAMutexIsItsOwner) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  while_waiting(
      [&] {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
      },
      [&](std::uint32_t tid) {
        const auto owner = lock_owner({.pid = own_pid, .tid = tid, .lock = LibraryLock::mutex});
        pthread_mutex_unlock(&mutex);
        ASSERT_TRUE(owner && owner->thread);
        EXPECT_EQ(owner->thread->tid, own_tid());
      });
}

TEST_F(OtherSides, OfAReadersWriterLockAreItsReadersOrItsWriter) {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  const auto write = [&] {
    pthread_rwlock_wrlock(&lock);
    pthread_rwlock_unlock(&lock);
  };
  const auto owner_for = [](std::uint32_t tid) {
    return lock_owner({.pid = own_pid, .tid = tid, .lock = LibraryLock::rwlock});
  };
  pthread_rwlock_rdlock(&lock);
  while_waiting(write, [&](std::uint32_t tid) {
    const auto owner = owner_for(tid);
    pthread_rwlock_unlock(&lock);
    ASSERT_TRUE(owner);
    EXPECT_FALSE(owner->thread);
    EXPECT_EQ(owner->readers, 1u);
  });
  pthread_rwlock_wrlock(&lock);
  while_waiting(write, [&](std::uint32_t tid) {
    const auto owner = owner_for(tid);
    pthread_rwlock_unlock(&lock);
    ASSERT_TRUE(owner && owner->thread);
    EXPECT_EQ(owner->thread->tid, own_tid());
  });
}

/// What is said of a child that does `act`, and stops.
std::string words_of_child(const std::function<void()>& act) {
  const pid_t child = fork();
  if (child == 0) {
    act();
    _exit(0);
  }
  const auto pid = static_cast<std::uint32_t>(child);
  siginfo_t info{};
  // The shell asks in another way, after which the kernel has forgotten the signal.
  waitid(P_PID, pid, &info, WSTOPPED | WEXITED | WNOWAIT);
  const auto sides = other_sides_of({{.pid = pid, .tid = pid, .is_stopped = true}});
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return sides.empty() ? "" : sides.front().words;
}

TEST_F(OtherSides, OfAStoppedProcessIsTheSignal) {
  EXPECT_EQ(words_of_child([] { raise(SIGSTOP); }), "by SIGSTOP");
}

TEST_F(OtherSides, OfAJobInTheBackgroundIsItsTerminal) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(grantpt(terminal), 0);
  ASSERT_EQ(unlockpt(terminal), 0);
  const std::string path = ptsname(terminal);
  int report[2] = {};
  ASSERT_EQ(pipe(report), 0);
  const pid_t shell = fork();
  if (shell == 0) {
    setsid();
    const int own = open(path.c_str(), O_RDWR);  // becomes the terminal of the session
    const std::string words = words_of_child([&] {
      setpgid(0, 0);
      char line[8];
      std::ignore = read(own, line, sizeof line);
    });
    std::ignore = write(report[1], words.data(), words.size());
    _exit(0);
  }
  waitpid(shell, nullptr, 0);
  char words[200] = {};
  const ssize_t length = read(report[0], words, sizeof words - 1);
  EXPECT_EQ(std::string(words, static_cast<std::size_t>(std::max<ssize_t>(length, 0))),
            "a read of " + path + " in the background stops a process (SIGTTIN)");
  for (const int fd : {terminal, report[0], report[1]}) close(fd);
}

TEST_F(OtherSides, OfAThreadThatDoesNotWaitAreUnknown) {
  EXPECT_FALSE(lock_owner({.pid = own_pid, .tid = own_tid(), .lock = LibraryLock::mutex}));
  EXPECT_TRUE(other_sides_of({{.pid = own_pid, .tid = 0, .lock = LibraryLock::mutex}}).empty());
}

}  // namespace
}  // namespace overdue
