#pragma once

namespace overdue {

/// Whether a thread can be preempted while a program of its system call's tracepoints runs (Linux
/// 7.2 and newer). The kernel passes over a program that is under way on a CPU, so that the other
/// threads' calls there would be missed: bpf/unpreempted.bpf.h. Reads the kernel's BTF once, on
/// kernels that may. Any thread. Throws Error where such a kernel has no BTF.
bool preempts_programs();

}  // namespace overdue
