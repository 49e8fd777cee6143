// die SIGNAL: kills itself with that signal number. die exit STATUS: exits with that status.
#include <signal.h>
#include <sys/prctl.h>

#include "workload.h"

int main(int argc, char** argv) {
  if (argc > 2) return (int)number_argument(argc, argv, 2, 0);
  prctl(PR_SET_DUMPABLE, 0);  // no core file
  kill(getpid(), (int)number_argument(argc, argv, 1, SIGKILL));
  return 0;
}
