#pragma once

#include <string>

struct btf;

namespace overdue {

/// The path of a file with those kernel types that `object`, the types of a BPF object, may refer
/// to. libbpf reads the file instead of all kernel types (bpf_object_open_opts.btf_custom_path):
/// for each type of an object, libbpf searches every type in the file, and a kernel has more than
/// 100,000. `key` is the object's own address in the program: the file of an object is made once.
/// Empty if there is no such file; libbpf then searches all kernel types. The file has no name and
/// lives as long as the process. Thread-safe.
std::string asked_types(const void* key, const btf* object);

}  // namespace overdue
