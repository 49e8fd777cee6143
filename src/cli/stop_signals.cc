#include "cli/stop_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include "base/error.h"

namespace overdue {

StopSignals::StopSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action{};
    sigaction(number, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&set, number);  // nohup's wish is kept
  }
  sigprocmask(SIG_BLOCK, &set, &before_);
  fd_ = Fd(check_errno(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), "cannot wait for signals"));
}

StopSignals::~StopSignals() {
  restore();
}

void StopSignals::restore() {
  if (restored_) return;
  restored_ = true;
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<StopSignals::Arrived> StopSignals::take() {
  signalfd_siginfo info{};
  if (read(fd_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return std::nullopt;
  restore();
  return Arrived{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
}

}  // namespace overdue
