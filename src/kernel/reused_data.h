#pragma once

struct bpf_object;

namespace overdue {

/// Makes a skeleton's pointers into data sections refer to the maps that the programs use. libbpf
/// before 1.5 does so at the load. Newer versions skip reused maps (bpf_map__reuse_fd): the pointer
/// then keeps the section's initial contents. Call after the object is loaded. Throws Error.
void map_reused_data(bpf_object* object);

}  // namespace overdue
