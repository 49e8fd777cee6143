#include "kernel/reused_data.h"

#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <sys/mman.h>

#include <cerrno>

#include "base/error.h"

namespace overdue {

void map_reused_data(bpf_object* object) {
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object) {
    std::size_t bytes = 0;
    const void* const address = bpf_map__initial_value(map, &bytes);
    const unsigned flags = bpf_map__map_flags(map);
    if (!address || bpf_map__fd(map) < 0 || !(flags & BPF_F_MMAPABLE) ||
        (flags & BPF_F_RDONLY_PROG))
      continue;
    // At the skeleton's address; libbpf unmaps the pages when it destroys the object.
    if (mmap(const_cast<void*>(address), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
             bpf_map__fd(map), 0) == MAP_FAILED)
      throw Error("cannot map {}: {}", bpf_map__name(map), errno_text(errno));
  }
}

}  // namespace overdue
