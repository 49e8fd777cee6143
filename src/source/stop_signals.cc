#include "source/stop_signals.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"

namespace overdue {
namespace {

/// The signals that are sent on purpose, and that would end Overdue without its report.
constexpr int stop_signals[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU};

// A signal handler can only reach static storage.
int handler_pipe = -1;
bool taken[NSIG];
void (*volatile last_words)() = nullptr;

void end_with_last_words(int number) {
  if (last_words) last_words();
  signal(number, SIG_DFL);
  raise(number);  // takes effect when this function returns
}

void give_back() {
  for (const int number : stop_signals) {
    if (!taken[number]) continue;
    struct sigaction action{};
    action.sa_handler = last_words ? end_with_last_words : SIG_DFL;
    sigaction(number, &action, nullptr);
  }
}

void on_signal(int number, siginfo_t* info, void*) {
  const int saved = errno;
  give_back();
  const StopSignals::Arrived arrived{number, info->si_code == SI_KERNEL};
  // Less than PIPE_BUF, into an empty pipe: written at once.
  [[maybe_unused]] const ssize_t written = write(handler_pipe, &arrived, sizeof arrived);
  errno = saved;
}

}  // namespace

StopSignals::StopSignals() {
  int ends[2];
  check_errno(pipe2(ends, O_CLOEXEC | O_NONBLOCK), "cannot wait for signals");
  reader_ = Fd(ends[0]);
  handler_pipe = ends[1];
  for (const int number : stop_signals) {
    struct sigaction action{};
    sigaction(number, nullptr, &action);
    taken[number] = action.sa_handler != SIG_IGN;
    if (!taken[number]) continue;
    // System calls in progress go on: code that must notice a signal polls fd().
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    action.sa_sigaction = on_signal;
    sigfillset(&action.sa_mask);
    sigaction(number, &action, nullptr);
  }
}

StopSignals::~StopSignals() {
  give_back();
  close(handler_pipe);
  handler_pipe = -1;
}

void StopSignals::before_the_second(void (*words)()) {
  last_words = words;
}

std::optional<StopSignals::Arrived> StopSignals::take() {
  Arrived arrived{};
  if (read(reader_.get(), &arrived, sizeof arrived) != static_cast<ssize_t>(sizeof arrived))
    return std::nullopt;
  return arrived;
}

}  // namespace overdue
