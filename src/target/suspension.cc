#include "target/suspension.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace overdue {
namespace {

// A signal handler can only use objects with static storage.
volatile pid_t awaited = -1;
volatile sig_atomic_t is_asked_to_stop = 0;

void handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  // The two handlers never interrupt each other.
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGTSTP);
  sigaddset(&action.sa_mask, SIGCHLD);
  sigaction(signal, &action, nullptr);
}

// A program that was stopped with SIGSTOP alone does not stop Overdue.
void on_child(int) {
  const int saved = errno;
  siginfo_t child{};
  const int failure =
      waitid(P_PID, static_cast<id_t>(awaited), &child, WSTOPPED | WNOHANG | WNOWAIT);
  if (failure == 0 && child.si_pid == awaited && (is_asked_to_stop || child.si_status == SIGTSTP)) {
    is_asked_to_stop = 0;
    raise(SIGSTOP);  // until the shell continues Overdue and the program
  }
  errno = saved;
}

void on_stop_key(int) {
  is_asked_to_stop = 1;
  on_child(SIGCHLD);
}

}  // namespace

Suspension::Suspension(pid_t program) {
  struct sigaction before{};
  sigaction(SIGTSTP, nullptr, &before);
  active_ = before.sa_handler == SIG_DFL;
  if (!active_) return;
  awaited = program;
  is_asked_to_stop = 0;
  handle(SIGTSTP, on_stop_key);
  handle(SIGCHLD, on_child);
}

Suspension::~Suspension() {
  if (!active_) return;
  handle(SIGTSTP, SIG_DFL);
  handle(SIGCHLD, SIG_DFL);
}

}  // namespace overdue
