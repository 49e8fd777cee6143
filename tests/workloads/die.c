// die SIGNAL: kills itself with the signal of that number. die exit STATUS: exits so.
#include <signal.h>
#include <sys/prctl.h>

#include "workload.h"

int main(int argc, char** argv) {
  if (argc > 2) return (int)number_argument(argc, argv, 2, 0);
  prctl(PR_SET_DUMPABLE, 0);  // no core file
  kill(getpid(), (int)number_argument(argc, argv, 1, SIGKILL));
  return 0;
}
