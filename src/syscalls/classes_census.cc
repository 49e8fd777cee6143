// Makes every system call of one ABI ("native", "i386" or "x32"), with all arguments zero, for
// strace to observe. A seccomp filter answers each call with ENOSYS, so no call is carried out.
// Neither is exit, hence the trap at the end.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <string_view>

namespace {

constexpr unsigned no_such_call = 38;  // ENOSYS
constexpr long x32_bit = 0x40000000;

void make_native_call(long number) {
  long result = number;
  register long fourth asm("r10") = 0;
  register long fifth asm("r8") = 0;
  register long sixth asm("r9") = 0;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(0), "S"(0), "d"(0), "r"(fourth), "r"(fifth), "r"(sixth)
               : "rcx", "r11", "memory");
}

void make_i386_call(long number) {
  long result = number;
  asm volatile("int $0x80"
               : "+a"(result)
               : "b"(0), "c"(0), "d"(0), "S"(0), "D"(0)
               : "r8", "r9", "r10", "r11", "memory");
}

/// uretprobe and uprobe: seccomp lets them pass, and they are fatal here.
bool is_fatal(long number) {
  return number == 335 || number == 336;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view abi = argc == 2 ? argv[1] : "";
  sock_filter deny_all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | no_such_call)};
  sock_fprog filter{1, deny_all};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
    return 1;
  for (long number = 0; number < 512; ++number)
    if (abi == "i386")
      make_i386_call(number);
    else if (!is_fatal(number))
      make_native_call(abi == "x32" ? number | x32_bit : number);
  __builtin_trap();
}
