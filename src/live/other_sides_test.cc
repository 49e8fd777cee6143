#include "live/other_sides.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

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

TEST_F(OtherSides, OfAThreadThatDoesNotWaitAreUnknown) {
  EXPECT_FALSE(lock_owner({.pid = own_pid, .tid = own_tid(), .lock = LibraryLock::mutex}));
  EXPECT_TRUE(other_sides_of({{.pid = own_pid, .tid = 0, .lock = LibraryLock::mutex}}).empty());
}

}  // namespace
}  // namespace overdue
