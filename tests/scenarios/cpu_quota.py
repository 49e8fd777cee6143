"""A program in a cgroup with a CPU quota."""
import os
import time

from scenario import Account, Truth, pause, tool
from overdue_test import unittest
from quota import Group

GROUP = "cpu"
SYMPTOM = "a container is slow, with idle CPUs"
READING = """\
The CPUs are idle, and the program is throttled: the cgroup is named with its quota. Raise the
quota, or use fewer threads."""
TRUTH = Truth(cause=r"throttled|quota", by=r"odt-shop", kinds=("throttled",), who="sha256sum")


def start(stage):
    try:
        group = Group(f"odt-shop-{os.getpid()}")
    except OSError as error:
        raise unittest.SkipTest(f"no cgroup with a CPU quota: {error}") from error
    stage.undo.callback(group.remove)
    group.limit(group.path)
    process = stage.start(tool("sha256sum"), "/dev/zero")
    group.write(process.pid, group.procs)
    stage.group = group
    pause(0.3)
    stage.before, stage.since = group.throttled_ns(group.path), time.monotonic_ns()
    return ["-p", process.pid]


def account(stage, begin, end):
    """By cpu.stat, which is read before and after the session: the session's part of that time."""
    throttled_ns = stage.group.throttled_ns(stage.group.path) - stage.before
    return Account(1, throttled_ns * (end - begin) // (time.monotonic_ns() - stage.since))
