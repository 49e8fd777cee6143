#pragma once

#include <memory>

struct btf;

namespace overdue {

/// The running kernel's BTF, to be read only. It is parsed once and kept while the process lives,
/// for parsing takes 10 to 50 ms. Null where it cannot be read: errno says why. Any thread.
std::shared_ptr<btf> kernel_btf();

}  // namespace overdue
