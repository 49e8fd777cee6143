#pragma once

#include <span>

#include "syscalls/signatures.h"

namespace overdue {

// The native calls, by the first letter of their names; and the i386 calls without a native call of
// the same name, or with other registers.
std::span<const Signature> signatures_a_f();
std::span<const Signature> signatures_g_m();
std::span<const Signature> signatures_n_r();
std::span<const Signature> signatures_s_z();
std::span<const Signature> signatures_compat();

}  // namespace overdue
