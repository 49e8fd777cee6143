# SPDX-License-Identifier: Apache-2.0
"""The kernel's statistics of BPF programs: how often each ran, and for how long."""

import json
import os
import subprocess

STATISTICS = "/proc/sys/kernel/bpf_stats_enabled"


def programs():
    """{id: bpftool's entry} of every loaded BPF program."""
    shown = subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, check=False,
                           env={**os.environ, "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin"}).stdout
    return {each["id"]: each for each in json.loads(shown or b"[]")}


class Statistics:
    """Has the kernel count and time the runs of every BPF program during a `with` block."""

    def __enter__(self):
        with open(STATISTICS, encoding="ascii") as file:
            self.former = file.read()
        self._set("1")
        return self

    def __exit__(self, *_):
        self._set(self.former)

    @staticmethod
    def _set(value):
        with open(STATISTICS, "w", encoding="ascii") as file:
            file.write(value)


def runs_between(first, last):
    """{name: (runs, ns)} of the programs in both snapshots, added up by name."""
    spent = {}
    for number, each in last.items():
        if number not in first:
            continue
        runs, ns = spent.get(each["name"], (0, 0))
        spent[each["name"]] = (runs + each.get("run_cnt", 0) - first[number].get("run_cnt", 0),
                               ns + each.get("run_time_ns", 0) - first[number].get("run_time_ns", 0))
    return {name: taken for name, taken in spent.items() if taken[0] > 0}
