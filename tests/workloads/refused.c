// refused [PAUSE_MS [kill|kill-thread]]: a seccomp filter answers calls of a second thread, each a
// known number of times. Before the filter and behind it (after PAUSE_MS) the thread calls getppid.
//   getuid      7  ERRNO EPERM           geteuid  4  TRAP, with a handler of SIGSYS
//   rename      2  ERRNO EACCES          getegid  5  TRACE, without a tracer: ENOSYS
//   getgid      3  ERRNO 0: returns 0    sched_yield  2  USER_NOTIF: EBUSY, and 77 as its result
//   getppid  6 + 9 ALLOW
// By the 32-bit entry: getpid 8 ERRNO EXDEV, or nothing if there is no such entry. Prints the
// number of these calls. With kill, the filter answers a last sync with SECCOMP_RET_KILL_PROCESS;
// with kill-thread, it answers with SECCOMP_RET_KILL_THREAD, and the process lives on.
#define _GNU_SOURCE
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "workload.h"

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define ANSWER(number, action) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, action)
#define REFUSE(code) (SECCOMP_RET_ERRNO | (code))

enum { I386_GETPID = 20 };

static unsigned last_action = SECCOMP_RET_ALLOW;
static int listener = -1;
static int by_32_bit_entry;
static int trapped;
static long pause_ms;

static int install_filter(void) {
  struct sock_filter filter[] = {
      LOAD(arch),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_I386, 0, 4),
      LOAD(nr),
      ANSWER(I386_GETPID, REFUSE(EXDEV)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      LOAD(nr),
      ANSWER(SYS_getuid, REFUSE(EPERM)),
      ANSWER(SYS_rename, REFUSE(EACCES)),
      ANSWER(SYS_getgid, REFUSE(0)),
      ANSWER(SYS_geteuid, SECCOMP_RET_TRAP),
      ANSWER(SYS_getegid, SECCOMP_RET_TRACE),
      ANSWER(SYS_sched_yield, SECCOMP_RET_USER_NOTIF),
      ANSWER(SYS_sync, last_action),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
  if (prctl(PR_SET_DUMPABLE, 0) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) fail("prctl");
  int made = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                          &program);
  if (made < 0) fail("seccomp");
  return made;
}

static void count_trap(int number) {
  (void)number;
  trapped++;
}

static void expect(long nr, int times, long result) {
  // On the stack, so that the strings are in memory: a refused call does not read them in.
  char from[] = "/refused/from", to[] = "/refused/to";
  for (int i = 0; i < times; i++) {
    errno = 0;
    long got = nr == SYS_rename ? syscall(nr, from, to) : syscall(nr);
    if ((got == -1 ? -errno : got) != result) exit(97);
  }
}

static sigjmp_buf before_entry;

static void leave_entry(int number) {
  siglongjmp(before_entry, number);
}

// Some hypervisors have no such entry: a call faults.
static void call_by_32_bit_entry(int times) {
#ifdef __x86_64__
  if (sigsetjmp(before_entry, 1)) return;
  for (; by_32_bit_entry < times; by_32_bit_entry++) {
    int result;
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "0"(I386_GETPID)
                     : "memory", "r8", "r9", "r10", "r11");
    if (result != -EXDEV) return;
  }
#endif
}

static void* call_all(void* unused) {
  call_getppid(6);
  __atomic_store_n(&listener, install_filter(), __ATOMIC_SEQ_CST);
  usleep((useconds_t)pause_ms * 1000);
  expect(SYS_getuid, 7, -EPERM);
  expect(SYS_rename, 2, -EACCES);
  expect(SYS_getgid, 3, 0);
  for (int i = 0; i < 4; i++) syscall(SYS_geteuid);
  if (trapped != 4) exit(96);
  expect(SYS_getegid, 5, -ENOSYS);
  expect(SYS_sched_yield, 1, -EBUSY);
  expect(SYS_sched_yield, 1, 77);
  call_by_32_bit_entry(8);
  call_getppid(9);
  if (last_action != SECCOMP_RET_ALLOW) syscall(SYS_sync);
  return unused;
}

static void answer(int error, long result) {
  struct seccomp_notif asked = {};
  struct seccomp_notif_resp response = {.error = error, .val = result};
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked)) fail("receive");
  response.id = asked.id;
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response)) fail("send");
}

int main(int argc, char** argv) {
  pthread_t thread;
  pause_ms = number_argument(argc, argv, 1, 0);
  if (argc > 2)
    last_action = strcmp(argv[2], "kill") ? SECCOMP_RET_KILL_THREAD : SECCOMP_RET_KILL_PROCESS;
  if (signal(SIGSYS, count_trap) == SIG_ERR) fail("signal");
  if (signal(SIGSEGV, leave_entry) == SIG_ERR) fail("signal");
  if (pthread_create(&thread, NULL, call_all, NULL)) fail("pthread_create");
  while (__atomic_load_n(&listener, __ATOMIC_SEQ_CST) < 0) usleep(1000);
  answer(-EBUSY, 0);
  answer(0, 77);
  if (pthread_join(thread, NULL)) fail("pthread_join");
  printf("%d\n", by_32_bit_entry);
  return 0;
}
