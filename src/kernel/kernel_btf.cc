#include "kernel/kernel_btf.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dlfcn.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <mutex>

namespace overdue {
namespace {

constexpr std::uint32_t most_strings = 64u << 20;

/// What libbpf must not free.
std::atomic<const btf*> kept_types = nullptr;

void free_kept(btf* types) {
  kept_types = nullptr;
  btf__free(types);
}

}  // namespace

std::shared_ptr<btf> kernel_btf() {
  static std::mutex mutex;
  static std::shared_ptr<btf> kept;
  const std::lock_guard lock(mutex);
  if (!kept)
    if (btf* const types = libbpf_find_kernel_btf()) {
      kept.reset(types, free_kept);
      kept_types = types;
    }
  return kept;
}

std::string btf_strings(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  btf_header header{};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header) || header.magic != BTF_MAGIC)
    return {};
  file.seekg(std::streamoff{header.hdr_len} + header.str_off);
  std::string strings(std::min(header.str_len, most_strings), '\0');
  file.read(strings.data(), static_cast<std::streamsize>(strings.size()));
  strings.resize(static_cast<std::size_t>(file.gcount()));
  return strings;
}

}  // namespace overdue

// The functions below replace libbpf's own. With the shared library, they do so because the
// program's symbols come first; in a static program, by the linker's --wrap (cmake/external.cmake),
// because libbpf's definitions are strong symbols.
//
// libbpf reads the kernel's types, some 5 MB in parts of 4 KB, once for each object that it loads:
// all objects share ours.
//
// libbpf searches the modules for a function that the kernel proper does not have, even for an
// optional one. Listing modules takes CAP_SYS_ADMIN; without it, libbpf refuses the object. We call
// no function of a module, so an empty list will do.
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

btf* __wrap_btf__load_vmlinux_btf();  // NOLINT: the linker's name

btf* __wrap_btf__load_vmlinux_btf() {  // NOLINT: the linker's name
  return overdue::kernel_btf().get();
}

[[gnu::weak, gnu::alias("__wrap_btf__load_vmlinux_btf")]] btf* btf__load_vmlinux_btf();

[[gnu::weak]] void __real_btf__free(btf* types);  // NOLINT: the linker's name, in a static program
void __wrap_btf__free(btf* types);                // NOLINT: the linker's name

void __wrap_btf__free(btf* types) {  // NOLINT: the linker's name
  using Free = decltype(__real_btf__free);
  static Free* const real =
      __real_btf__free ? __real_btf__free : reinterpret_cast<Free*>(dlsym(RTLD_NEXT, "btf__free"));
  if (types != overdue::kept_types) real(types);
}

[[gnu::weak, gnu::alias("__wrap_btf__free")]] void btf__free(btf* types);
}
