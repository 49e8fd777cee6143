#!/usr/bin/python3
"""`overdue stalls`: the functions that ran, compared with the program's own account of CPU time."""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import SLOWER, main, overdue, tool, workload
from stall_findings import MS, Case, described_all, functions, stalls, text_of, described

FEW = 20  # samples; fewer give no reliable shares
# A kernel that hides the holder's switch in leaves its only run unknown: then a run has no such step.
RUNS = 3
# On a busy machine the holder may have been preempted for longer than it ran.
RAN = r" held it up: (was preempted .*; )?ran "


def own_account(seen):
    return json.loads(seen.finished.out.splitlines()[-1])


def shares(on_cpu):
    """Shares of samples by function and caller: {("crc_block", "flush"): 0.8}"""
    found = {}
    for place in on_cpu["places"]:
        key = tuple(functions(place["stack"])[:2])
        found[key] = found.get(key, 0) + place["samples"] / on_cpu["samples"]
    return found


class Functions(Case):
    def of_the_holder(self, *options, ms=400):
        """(The lock holder's step of the chain, the run)."""
        for _ in range(RUNS):
            seen = stalls("-T", "100ms", *options, "--", workload("computes_in"), "lock", ms)
            self.assert_sound(seen)
            steps = [one["chain"][0] for one in seen.named("futex") if one["chain"]]
            if ran := [step for step in steps if step["what"] == "ran" or "on_cpu" in step]:
                break
        (step,) = ran
        return step, seen

    def assert_as_accounted(self, on_cpu, account):
        self.assertGreaterEqual(on_cpu["samples"], FEW, on_cpu)
        self.assertEqual(sum(place["samples"] for place in on_cpu["places"]), on_cpu["samples"])
        counts = [place["samples"] for place in on_cpu["places"]]
        self.assertEqual(counts, sorted(counts, reverse=True))
        found, all_ns = shares(on_cpu), sum(account.values())
        for function, ns in account.items():
            # Of 64 samples 0.15 is three standard deviations.
            self.assertAlmostEqual(found.get((function, "flush"), 0), ns / all_ns, delta=0.15, msg=found)

    def test_who_holds_a_lock(self):
        step, seen = self.of_the_holder()
        self.assert_as_accounted(step["on_cpu"], own_account(seen))

    def test_who_takes_the_cpu(self):
        last_cpu = str(os.cpu_count() - 1)
        pinned = [tool("taskset"), "-c", last_cpu]
        hog = [*pinned, workload("computes_in"), "lock", str(20000 * SLOWER)]
        with subprocess.Popen(hog, stdout=subprocess.DEVNULL) as process:
            try:
                time.sleep(0.2)
                # Waits of an eighth of the threshold are recorded; a preemption is below 8 ms.
                seen = stalls("-T", "16ms", "-e", "read", "--", *pinned, workload("computes_in"), "random", 48)
            finally:
                process.kill()
        (late,) = [one for one in seen.named("read") if "fill_buffer" in functions(one["user_stack"])]
        self.assertGreater(late["breakdown"]["preempted_ns"], late["latency_ns"] / 4, described(late))
        # Others may have this CPU, too, as a compiler beside the tests.
        ran = [share["on_cpu"] for wait in late["waits"] for share in wait.get("ran", [])
               if "on_cpu" in share and share["comm"] == "computes_in"]
        self.assertEqual(len(ran), 1, described(late))
        self.assertGreater(ran[0]["samples"], FEW / 2, described(late))
        named = sum(share for key, share in shares(ran[0]).items() if key[1:] == ("flush",))
        self.assertGreater(named, 0.8, ran[0])

    def test_a_call_in_the_kernel(self):
        """A call that is on the CPU: kernel functions, the innermost first, then the program's."""
        seen = stalls("-T", "100ms", "-e", "read", "--", workload("computes_in"), "random", 64)
        (late,) = [one for one in seen.named("read") if "fill_buffer" in functions(one["user_stack"])]
        self.assertGreaterEqual(late["on_cpu"]["samples"], FEW, described(late))
        for place in late["on_cpu"]["places"]:
            self.assertEqual(place["stack"][0]["module"], "[kernel]", place)
            for name in functions(place["stack"]):
                self.assertNotRegex(name, "sysvec|apic_timer|bpf_", place)
        deep = [place for place in late["on_cpu"]["places"] if "get_random_bytes_user" in functions(place["stack"])]
        self.assertTrue(deep, late["on_cpu"])

    def test_in_text(self):
        for _ in range(RUNS):
            text, _ = text_of("-T", "100ms", "--", workload("computes_in"), "lock", 400)
            if re.search(RAN, text):
                break
        self.assertRegex(text, r"└ computes_in\[\d+\]" + RAN + r"[\d.]+ms, \d\d % in crc_block ← flush, "
                               r"\d+ % in sort_names ← flush \(\d\d samples\)(; was .*)?\n")

    def test_a_recording_says_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "saved.odt")
            step, live = self.of_the_holder("--save", path)
            lines = map(json.loads, overdue("report", "--view", "stalls", "-f", "ndjson", path).utf8.split("\n")[:-1])
            self.assertEqual([line for line in lines if line["type"] == "stall"], live.found)
        self.assert_as_accounted(step["on_cpu"], own_account(live))

    def test_without(self):
        """Without copies of stacks, or without the hook for ticks."""
        for options in (["--user-stack-bytes", 0], ["--without", "interrupt_vectors"]):
            with self.subTest(options=options):
                step, seen = self.of_the_holder(*options)
                self.assertNotIn("on_cpu", step, described_all(seen.found))
                self.assertGreater(step["breakdown"]["oncpu_ns"], 350 * MS, described_all(seen.found))


if __name__ == "__main__":
    main()
