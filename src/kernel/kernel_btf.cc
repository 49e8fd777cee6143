#include "kernel/kernel_btf.h"

#include <bpf/btf.h>

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
