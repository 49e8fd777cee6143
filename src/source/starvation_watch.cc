#include "source/starvation_watch.h"

#include <pthread.h>
#include <sched.h>

#include "base/error.h"
#include "base/signals_blocked.h"
#include "base/thread_rights.h"

namespace overdue {
namespace {

constexpr Duration alive_every = std::chrono::milliseconds(100);

}  // namespace

StarvationWatch::StarvationWatch(int priority, Duration patience, std::function<void()> end)
    : patience_(patience), end_(std::move(end)), alive_ns_(KernelClock::now_ns()) {
  const SignalsBlocked blocked;
  ordinary_ = std::thread([this] { live(); });
  real_time_ = std::thread([this, priority] { watch(priority); });
}

StarvationWatch::~StarvationWatch() {
  stopping_ = true;
  ordinary_.join();
  real_time_.join();
}

void StarvationWatch::live() {
  ThreadRights{}.apply();
  while (!stopping_) {
    alive_ns_ = KernelClock::now_ns();
    std::this_thread::sleep_for(alive_every);
  }
}

void StarvationWatch::watch(int priority) {
  const sched_param parameters{priority};
  if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters) != 0) return;
  ThreadRights{}.apply();  // the thread needs no rights from here on
  while (!stopping_) {
    const std::uint64_t alive_ns = alive_ns_, now = KernelClock::now_ns();
    if (now > alive_ns && now - alive_ns > patience_.count()) {
      starved_ = true;
      end_();
      return;
    }
    std::this_thread::sleep_for(alive_every);
  }
}

void throw_starved() {
  throw Error("the run was ended: for 10 seconds no CPU had time for ordinary threads")
      .hint("something real-time takes all of them; see ps -eLo cls,rtprio,pcpu,comm");
}

}  // namespace overdue
