#pragma once

#include <string>
#include <string_view>

namespace overdue {

/// Whether Overdue's own tests run on a kernel of the same series (6.1) as `release`
/// ("6.1.0-56-amd64"), with PREEMPT_RT or without. docs/kernels.md has their results.
bool is_tested_kernel(std::string_view release, bool preempt_rt);

/// The tested series, for a sentence: "6.1, 6.12; with PREEMPT_RT 6.1".
std::string tested_kernels_text();

}  // namespace overdue
