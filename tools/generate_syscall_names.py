#!/usr/bin/env python3
"""Writes src/syscalls/names_table.cc: the numbers and names of the system calls of x86-64, i386 and x32.

    tools/generate_syscall_names.py [HEADER_FOLDER] > src/syscalls/names_table.cc

The numbers come from the kernel headers of the C library (<asm/unistd_64.h>, unistd_32.h, unistd_x32.h) and from
the list below, for calls newer than those headers. Numbers never change, so running this on an older or newer
machine may only lose or add names at the end; names_test.cc compares the result with the headers of its machine.
"""

import pathlib
import re
import sys

# Calls of Linux 6.2 … 7.2, the same number on all three ABIs.
COMMON = [
    (451, "cachestat"), (452, "fchmodat2"), (453, "map_shadow_stack"), (454, "futex_wake"),
    (455, "futex_wait"), (456, "futex_requeue"), (457, "statmount"), (458, "listmount"),
    (459, "lsm_get_self_attr"), (460, "lsm_set_self_attr"), (461, "lsm_list_modules"), (462, "mseal"),
    (463, "setxattrat"), (464, "getxattrat"), (465, "listxattrat"), (466, "removexattrat"),
    (467, "open_tree_attr"), (468, "file_getattr"), (469, "file_setattr"), (470, "listns"), (471, "rseq_slice_yield"),
]
# Not i386: entered from trampolines that the kernel itself puts into a process.
TRAMPOLINES = [(335, "uretprobe"), (336, "uprobe")]

TABLES = [
    ("native_names", "unistd_64.h", TRAMPOLINES),
    ("compat_names", "unistd_32.h", []),
    ("x32_names", "unistd_x32.h", TRAMPOLINES),
]


def header_names(path):
    pattern = re.compile(r"#define __NR_(\w+) (?:\(__X32_SYSCALL_BIT \+ )?(\d+)\)?$", re.MULTILINE)
    return {int(number): name for name, number in pattern.findall(path.read_text())}


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/include/x86_64-linux-gnu/asm")
    print("// Written by tools/generate_syscall_names.py; do not edit. An empty name is an unused number.")
    print('#include "syscalls/names_table.h"\n\nnamespace overdue {\nnamespace {\n\n// clang-format off')
    for symbol, header, extra in TABLES:
        names = header_names(folder / header) | dict(COMMON) | dict(extra)
        print(f"constexpr std::string_view {symbol}[] = {{")
        for first in range(0, max(names) + 1, 8):
            row = (f'"{names.get(n, "")}",' for n in range(first, min(first + 8, max(names) + 1)))
            print(f"    /* {first:3} */ " + " ".join(row))
        print("};")
    print("// clang-format on\n\n}  // namespace\n")
    print("std::span<const std::string_view> builtin_names(std::uint16_t abi) {")
    for constant, (symbol, _, _) in zip(("ABI_NATIVE", "ABI_COMPAT", "ABI_X32"), TABLES):
        print(f"  if (abi == {constant}) return {symbol};")
    print("  return {};\n}\n\n}  // namespace overdue")


main()
