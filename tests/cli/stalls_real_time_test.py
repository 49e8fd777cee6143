#!/usr/bin/python3
"""`overdue stalls` and threads throttled by the kernel's limit for real-time threads. The threads'
own measurements are the oracle."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import Live, main, overdue, tool, workload
from quota import Group
from real_time import has_groups, is_limited, setting
from stall_findings import MS, Case, described_all, stalls, described

RUNTIME_MS, PERIOD_MS = 10, 100


def others(wait):
    return {"comm": "", "ns": wait.get("ran_others_ns", 0)}


class RealTime(Case):
    def seen(self, ms, *group):
        last_cpu = os.cpu_count() - 1
        # The sleeper's naps of 2 ms are not late: a finding for each is more than an emulated machine reads in time.
        seen = stalls("--span", "offcpu", "-T", "3ms", "--", workload("real_time_limit"), last_cpu, ms, *group)
        self.assert_sound(seen)
        own = {one["name"]: one for one in map(json.loads, seen.finished.out.splitlines())}
        return own, {name: [one for one in seen.found if one["thread"] == name] for name in own}

    def assert_limited(self, own, found, cgroup, runtime_ns, period_ns):
        """Throttling, with its cgroup, and other threads explain the time that each thread lost.
        Since Linux 6.12, ordinary threads that wait long run before the limit is reached."""
        for name, account in own.items():
            self.assertGreater(account["sum_ns"], 20 * MS, own)
            throttled_ns = sum(one["breakdown"]["throttled_ns"] for one in found[name])
            explained_ns = throttled_ns + sum(one["ns"] for finding in found[name] for wait in finding["waits"]
                                              for one in wait.get("ran", []) + [others(wait)] if one["comm"] not in own)
            self.assertGreaterEqual(explained_ns, 0.9 * account["sum_ns"], described_all(found[name]))
            long_ns = sum(one["breakdown"]["throttled_ns"] for one in found[name] if one["latency_ns"] > 13 * MS)
            self.assertLessEqual(long_ns, account["sum_ns"] + 2 * MS * account["times"], described_all(found[name]))
            for finding in found[name]:
                if not finding["breakdown"]["throttled_ns"]:
                    continue
                by = next(wait["throttled_by"] for wait in finding["waits"] if "throttled_by" in wait)
                self.assertEqual((by["limit"], by["cgroup"], by["quota_ns"], by["period_ns"]),
                                 ("real_time", cgroup, runtime_ns, period_ns), described(finding))

    def test_all_of_them(self):
        own, found = self.seen(2200)
        if is_limited():
            self.assert_limited(own, found, "/", 1000 * setting("sched_rt_runtime_us"),
                                1000 * setting("sched_rt_period_us"))
        else:
            for name in own:
                self.assertEqual([described(one) for one in found[name] if one["breakdown"]["throttled_ns"]], [])

    def limited_group(self):
        if not has_groups():
            self.skipTest("this kernel has no limits for the real-time threads of a cgroup")
        group = Group(f"odt-real-time-{os.getpid()}")
        self.addCleanup(group.remove)
        group.write(1000 * PERIOD_MS, group.path, "cpu.rt_period_us")
        group.write(1000 * RUNTIME_MS, group.path, "cpu.rt_runtime_us")
        return group

    def test_a_call_that_is_still_open(self):
        """Another program has the CPU while the limit throttles the reader, and does not preempt the reader."""
        group, cpu = self.limited_group(), str(os.cpu_count() - 1)
        with Live(tool("taskset"), "-c", cpu, "sh", "-c", "while :; do :; done"):
            finished = overdue("stalls", "-f", "ndjson", "--timeout", "500ms", "-T", "10s", "-e", "read", "--",
                               tool("chrt"), "-f", "10", tool("taskset"), "-c", cpu, workload("over_quota"), "read",
                               group.procs, 4, 120)
        hangs = [one for one in map(json.loads, finished.err.splitlines()) if one["type"] == "hang"]
        self.assertLessEqual({one["state"] for one in hangs}, {"throttled", "running"}, described_all(hangs))
        throttled = [one for one in hangs if one["state"] == "throttled"]
        self.assertGreaterEqual(len(throttled), 1, f"{described_all(hangs)}{finished}")
        for one in throttled:
            self.assertGreaterEqual(one["breakdown"]["throttled_ns"], 100 * MS, described(one))
            by = one["waits"][-1]["throttled_by"]
            self.assertEqual((by["limit"], by["cgroup"], by["quota_ns"], by["period_ns"]),
                             ("real_time", group.name, RUNTIME_MS * MS, PERIOD_MS * MS), described(one))

    def test_those_of_a_cgroup(self):
        group = self.limited_group()
        own, found = self.seen(1000, group.procs)
        self.assert_limited(own, found, group.name, RUNTIME_MS * MS, PERIOD_MS * MS)


if __name__ == "__main__":
    main()
