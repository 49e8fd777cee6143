#pragma once

struct bpf_object;

namespace overdue {

/// Makes a skeleton's pointers into data sections show the maps that the programs use. libbpf
/// before 1.5 does so when it loads; newer ones leave a map that was reused (bpf_map__reuse_fd)
/// out, and the pointer goes on showing the section's first contents. After the object is loaded.
/// Throws Error.
void map_reused_data(bpf_object* object);

}  // namespace overdue
