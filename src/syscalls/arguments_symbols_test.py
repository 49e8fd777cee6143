#!/usr/bin/env python3
"""Compares the numbers in arguments_symbols_*.cc with the macros and enumerators of this machine's headers.

    arguments_symbols_test.py

Names the headers do not have (they may be older than our tables) are counted, not compared. Exit status 77: no
compiler or no usable headers.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

COMPILER = ["gcc", "-w"]
HEADERS = """
    fcntl.h sched.h signal.h time.h unistd.h netinet/in.h netinet/tcp.h sys/epoll.h sys/eventfd.h sys/fanotify.h
    sys/file.h sys/inotify.h sys/ioctl.h sys/ipc.h sys/mman.h sys/mount.h sys/msg.h sys/prctl.h sys/ptrace.h
    sys/random.h sys/resource.h sys/sem.h sys/shm.h sys/signalfd.h sys/socket.h sys/stat.h sys/swap.h
    sys/time.h sys/timerfd.h sys/uio.h sys/wait.h sys/xattr.h asm/prctl.h linux/bpf.h linux/falloc.h linux/fs.h
    linux/fiemap.h linux/futex.h linux/if_tun.h linux/io_uring.h linux/ioprio.h linux/kcmp.h linux/kexec.h linux/keyctl.h
    linux/kvm.h linux/landlock.h linux/loop.h linux/membarrier.h linux/mempolicy.h linux/module.h linux/net.h
    linux/netlink.h linux/nsfs.h linux/perf_event.h linux/random.h linux/rseq.h linux/seccomp.h linux/sockios.h
    linux/userfaultfd.h
""".split()

# Names whose number in the C library is not the one the system call interface has on x86-64, or that mean something
# else there; each was checked by hand.
DIFFERENT = {
    "O_LARGEFILE",  # 0 in the C library
    "F_GETLK", "F_SETLK", "F_SETLKW",  # 5 … 7 in the C library of a 64-bit machine: also F_…64
    "F_GETLK64", "F_SETLK64", "F_SETLKW64",
    "ETH_P_ALL", "ETH_P_IP", "ETH_P_IPV6", "ETH_P_ARP",  # network byte order, as socket(2) takes them
    "PTRACE_PEEKUSER", "PTRACE_POKEUSER",
    "TCGETS2", "TCSETS2", "TCSETSW2",  # macros that need a struct the C library hides
}


def tables():
    folder = pathlib.Path(__file__).resolve().parent
    for path in sorted(folder.glob("arguments_symbols_*.cc")):
        if path.name.endswith("_test.cc"):
            continue
        for value, name in re.findall(r'\{(0x[0-9a-f]+|\d+), "(\w+)"\}', path.read_text()):
            yield name, int(value, 0)


def source(names):
    lines = ["#define _GNU_SOURCE 1"] + [f"#include <{header}>" for header in HEADERS]
    lines += ["#include <stdio.h>", "int main() {"]
    lines += [f'  printf("{name} %llx\\n", (unsigned long long)({name}));' for name in names]
    return "\n".join(lines + ["}\n"])


def undeclared(names):
    """The names no header has."""
    result = subprocess.run(COMPILER + ["-fmax-errors=0", "-fsyntax-only", "-x", "c", "-"], input=source(names),
                            capture_output=True, text=True, env=os.environ | {"LC_ALL": "C"})
    missing = set(re.findall(r"error: '(\w+)' undeclared", result.stderr))
    if result.returncode != 0 and not missing:
        print(result.stderr)
        sys.exit(77)
    return missing


def main():
    if not shutil.which(COMPILER[0]):
        print(f"no {COMPILER[0]} here")
        return 77
    expected = list(tables())
    names = sorted({name for name, _ in expected} - DIFFERENT)
    missing = undeclared(names)
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "values"
        subprocess.run(COMPILER + ["-x", "c", "-", "-o", str(program)],
                       input=source(sorted(set(names) - missing)), text=True, check=True)
        output = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    values = {name: int(value, 16) for name, value in (line.split() for line in output.splitlines())}
    wrong = [f"{name} is {value:#x} in our table, {values[name]:#x} in the headers" for name, value in expected
             if name in values and value not in (values[name], values[name] & 0xFFFFFFFF)]
    print(f"{len(values)} names compared; not in these headers: {' '.join(sorted(missing))}")
    print("\n".join(wrong))
    if len(values) < 500:
        print("too few names to be true")
        return 1
    return 1 if wrong else 0


sys.exit(main())
