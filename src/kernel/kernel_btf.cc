#include "kernel/kernel_btf.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <mutex>

namespace overdue {

std::shared_ptr<btf> kernel_btf() {
  static std::mutex mutex;
  static std::shared_ptr<btf> kept;
  const std::lock_guard lock(mutex);
  if (!kept)
    if (btf* const types = btf__load_vmlinux_btf()) kept.reset(types, btf__free);
  return kept;
}

}  // namespace overdue

// libbpf searches the modules for a function that the kernel proper does not have, even for an
// optional one. Listing modules takes CAP_SYS_ADMIN; without it, libbpf refuses the object. We call
// no function of a module, so an empty list will do. This function replaces libbpf's own: with the
// shared library, because the program's symbols come first; in a static program, by the linker's
// --wrap (cmake/external.cmake), because libbpf's definition is a strong symbol.
extern "C" {

int __wrap_bpf_btf_get_next_id(__u32 start_id, __u32* next_id);  // NOLINT: the linker's name

int __wrap_bpf_btf_get_next_id(__u32 start_id, __u32* next_id) {  // NOLINT: the linker's name
  bpf_attr attributes{};
  attributes.start_id = start_id;
  constexpr std::size_t size = offsetof(bpf_attr, open_flags) + sizeof attributes.open_flags;
  if (syscall(SYS_bpf, BPF_BTF_GET_NEXT_ID, &attributes, size) == 0) {
    *next_id = attributes.next_id;
    return 0;
  }
  if (errno == EPERM) errno = ENOENT;  // the end of the list
  return -errno;
}

[[gnu::weak, gnu::alias("__wrap_bpf_btf_get_next_id")]] int bpf_btf_get_next_id(__u32 start_id,
                                                                                __u32* next_id);
}
