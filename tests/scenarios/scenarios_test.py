#!/usr/bin/python3
"""`overdue why` on slow systems whose cause is known. The argument is a group of scenarios; the test
of a scenario is its module's name."""
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import scenario
from scenario import FIRST_SCREEN, MS, Stage, account_of, all_scenarios
from overdue_test import LONG, main, overdue, require_root, unittest

DURATION = "3s"
# What the session costs may come late, and its begin and end are not the account's.
SLACK_NS = 30 * MS


def modules(group):
    """The scenarios of the group, by name."""
    return {name: module for name, module in all_scenarios().items() if module.GROUP == group}


class Seen:
    """One session: the report as JSON, as text, and the system's own account."""

    def __init__(self, name, module):
        with Stage() as stage:
            self.target = list(map(str, module.start(stage)))
            saved, path = stage.path("saved.odt"), stage.path("why.json")
            self.programs = stage.names()
            begin = time.monotonic_ns()
            self.finished = overdue("why", "-f", "json", "-o", path, "--save", saved, "-d", DURATION, *self.target)
            end = time.monotonic_ns()
            if self.finished.status != 0:
                raise AssertionError(f"{name}: {self.finished}")
            with open(path, encoding="utf-8") as file:
                self.report = json.load(file)
            begin = self.report.get("start_ns", begin)
            self.account = account_of(module, stage, begin, min(end, begin + self.report["duration_ns"]))
            replayed = overdue("report", saved)
            if replayed.status != 0:
                raise AssertionError(f"{name}: {replayed}")
            self.text = replayed.utf8

    def __str__(self):
        causes = "".join(f"\n  {described(cause)}" for cause in self.report["causes"])
        return f"target {self.target}, account {self.account}; causes:{causes or ' none'}\n{self.text}"


def described(cause):
    who = ", ".join(f"{one['name']} {one['ns'] / MS:.1f}" for one in cause["who"])
    by = ", ".join(f"{one['name']} {one['ns'] / MS:.1f}" for one in cause["by"])
    return (f"{cause['kind']}: {cause['cause']}: {cause['count']} times, {cause['total_ns'] / MS:.1f} ms, longest "
            f"{cause['max_ns'] / MS:.1f} ms; who: {who or '-'}; by: {by or '-'}")


def own_ns(truth, cause, programs):
    """The cause's total on a machine that runs nothing else: without waits behind other programs, if
    the truth is not such waits."""
    if cause["kind"] != "runqueue" or (truth is not scenario.NOTHING and "runqueue" in truth.kinds):
        return cause["total_ns"]
    own = sum(one["ns"] for one in cause["by"] if one["name"] in programs)
    return cause["total_ns"] * own / max(1, sum(one["ns"] for one in cause["by"]))


def own_causes(truth, seen):
    """The causes by their totals, without those that a busy machine alone explains."""
    causes = seen.report["causes"]
    own = {id(cause): own_ns(truth, cause, seen.programs) for cause in causes}
    return sorted((cause for cause in causes if own[id(cause)] >= 0.5 * cause["total_ns"]),
                  key=lambda cause: own[id(cause)], reverse=True)


def differences(truth, cause):
    """What of the truth this cause does not say."""
    by_names = "\n".join(one["name"] for one in cause["by"]) or cause["cause"]
    said = (("cause", truth.cause, cause["cause"]), ("who", truth.who, "\n".join(one["name"] for one in cause["who"])),
            ("by", truth.by, by_names), ("example", truth.example, json.dumps(cause.get("example", {}))))
    found = [f"no {wanted!r} in its {part}" for part, wanted, text in said
             if not re.search(wanted, text, re.IGNORECASE)]
    if cause["kind"] not in truth.kinds:
        found.append(f"its kind is not {' or '.join(truth.kinds)}")
    return found


class Scenario(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        require_root()

    def check(self, name, module):
        seen = Seen(name, module)
        truth = module.TRUTH
        causes = own_causes(truth, seen)
        if truth is scenario.NOTHING:
            self.assertEqual(causes, [], f"{name}: noise: {seen}")
            return
        wrong = [differences(truth, cause) for cause in causes[:truth.first]]
        self.assertIn([], wrong, f"{name}: {wrong}: {seen}")
        cause = causes[wrong.index([])]
        self.check_innocent(name, truth, seen)
        self.check_account(name, truth, cause, seen)
        self.check_text(name, truth, cause, seen)

    def check_innocent(self, name, truth, seen):
        for cause in seen.report["causes"] if truth.not_by else ():
            # Who had the CPU is a measured share, and no blame for a lock or a disk.
            if cause["kind"] == "runqueue" and "runqueue" not in truth.kinds:
                continue
            # On a busy machine, the thread that has a lock may be preempted for a moment.
            if cause["share"] < 0.05:
                continue
            whole = sum(one["ns"] for one in cause["by"])
            for one in cause["by"]:
                if one["ns"] >= whole / 10:
                    self.assertNotRegex(one["name"], truth.not_by, f"{name}: blames the innocent: {seen}")

    def check_account(self, name, truth, cause, seen):
        if seen.account is None:
            return
        # A holder that ran and one that was preempted are two causes with one truth.
        same = [one for one in seen.report["causes"] if one is cause or not differences(truth, one)]
        late = [one for part in same for one in part["who"] if re.search(truth.who, one["name"])]
        if seen.account.total_ns is None:
            said, own, slack = sum(one["count"] for one in late), seen.account.count, 2
        else:
            said, own, slack = sum(one["ns"] for one in late), seen.account.total_ns, SLACK_NS
        self.assertGreaterEqual(said, truth.least * own - slack, f"{name}: too little: {seen}")
        self.assertLessEqual(said, truth.most * own + slack, f"{name}: too much: {seen}")

    def check_text(self, name, truth, cause, seen):
        screen = "\n".join(seen.text.splitlines()[:FIRST_SCREEN])
        self.assertRegex(screen, re.compile(truth.cause, re.IGNORECASE), f"{name}: {seen}")
        for wanted in filter(None, (truth.who, truth.by)):
            self.assertRegex(screen, wanted, f"{name}: {seen}")
        if truth.oncpu:
            functions = "\n".join(one["function"] for one in seen.report["oncpu"])
            self.assertRegex(functions, truth.oncpu, f"{name}: {seen}")
            self.assertRegex(screen, truth.oncpu, f"{name}: {seen}")


# These run always; the others with OVERDUE_LONG.
SHORT = {"python_lock", "python_gil", "java_lock", "java_gc", "node_cpu", "node_file", "redis_aof", "postgres_row_lock",
         "postgres_fsync", "fork_storm", "cpu_quota", "behind_fifo", "listen_queue", "dead_dns", "dsync_writer",
         "major_faults", "held_flock", "retry_loop", "stat_storm", "idle_redis", "idle_node", "idle_shell"}


def add_tests(group):
    for name, module in modules(group).items():
        def test(self, name=name, module=module):
            if name not in SHORT and not LONG:
                self.skipTest("OVERDUE_LONG=1 runs it")
            self.check(name, module)
        test.__doc__ = module.__doc__
        setattr(Scenario, f"test_{name}", test)


if __name__ == "__main__":
    add_tests(sys.argv.pop(1))
    main()
