"""The kernel's limit for real-time threads."""
import os

from overdue_test import kernel_version


def setting(name):
    with open(f"/proc/sys/kernel/{name}", encoding="ascii") as file:
        return int(file.read())


def has_groups():
    return os.path.exists("/sys/fs/cgroup/cpu/cpu.rt_runtime_us")


def is_limited():
    """From Linux 6.12 on, the limit is for groups of real-time threads, if there are groups."""
    return setting("sched_rt_runtime_us") >= 0 and (kernel_version() < (6, 12) or has_groups())
