"""Cgroups with a CPU quota."""
import glob
import json
import os
import time

from overdue_test import kernel_version, overdue

PERIOD_MS, QUOTA_MS = 100, 20


def throttles_within_calls():
    """Whether a thread is throttled wherever it is. Since Linux 6.18, that happens only on its way out to its program."""
    return kernel_version() < (6, 18)


class Group:
    """A cgroup with a quota, of the version (1 or 2) that this machine has."""

    def __init__(self, *names):
        self.is_v1 = os.path.exists("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
        self.root = "/sys/fs/cgroup/cpu" if self.is_v1 else next(iter(
            os.path.dirname(path) for path in glob.glob("/sys/fs/cgroup/cgroup.controllers") +
            glob.glob("/sys/fs/cgroup/unified/cgroup.controllers")), "")
        self.made = []
        path = self.root
        for name in names:
            if not self.is_v1:
                self.write("+cpu", path, "cgroup.subtree_control")
            path = os.path.join(path, name)
            os.mkdir(path)
            self.made.append(path)
        self.path, self.name = path, path.removeprefix(self.root)
        self.procs = os.path.join(path, "cgroup.procs")

    def write(self, value, *names):
        with open(os.path.join(*names), "w", encoding="ascii") as file:
            file.write(str(value))

    def limit(self, path, quota_ms=QUOTA_MS, period_ms=PERIOD_MS):
        if self.is_v1:
            self.write(1000 * period_ms, path, "cpu.cfs_period_us")
            self.write(1000 * quota_ms, path, "cpu.cfs_quota_us")
        else:
            self.write(f"{1000 * quota_ms} {1000 * period_ms}", path, "cpu.max")

    def stat(self, path):
        with open(os.path.join(path, "cpu.stat"), encoding="ascii") as file:
            return {name: int(value) for name, value in map(str.split, file)}

    def throttled_ns(self, path):
        stat = self.stat(path)
        return stat["throttled_time"] if self.is_v1 else 1000 * stat["throttled_usec"]

    def remove(self):
        for path in reversed(self.made):
            for _ in range(100):
                try:
                    os.rmdir(path)
                    break
                except OSError:  # its last process is still exiting
                    time.sleep(0.02)


class QuotaMixin:
    """For test classes: skips tests if the kernel reports nothing about quotas."""

    def require_quotas(self):
        doctor = json.loads(overdue("doctor", "--no-calibrate", "-f", "json").out)
        throttles = next(one for one in doctor["features"] if one["name"] == "throttles")
        if not throttles["yes"]:
            self.skipTest(f"this kernel does not tell of quotas: {throttles}")

    def group(self, *names):
        try:
            group = Group(*names)
        except OSError as error:
            self.skipTest(f"no cgroup with a CPU quota: {error}")
        self.addCleanup(group.remove)
        return group
