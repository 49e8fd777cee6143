#pragma once

#include <string>

struct btf;

namespace overdue {

/// Of the kernel's types those that `object`, the types of a BPF object, may ask about, as a file
/// that libbpf reads instead of all (bpf_object_open_opts.btf_custom_path): for each type that an
/// object asks about libbpf looks at every type that it is given, and a kernel has more than
/// 100,000. `key` is the object's own address in the program: each is looked at once. Empty where
/// there is no such file; libbpf then looks at all. The file has no name and lives as long as the
/// process. Thread-safe.
std::string asked_types(const void* key, const btf* object);

}  // namespace overdue
