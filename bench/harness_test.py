#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The harness's arithmetic and reading, on made-up figures: no tool runs, nothing is timed."""

import os
import sys
import tempfile
import types
import unittest

sys.dont_write_bytecode = True

from harness import measure, report, requirements, stats, tools  # noqa: E402
from harness.process import Unavailable  # noqa: E402


def fake_tool(key, floor=False, **more):
    return types.SimpleNamespace(key=key, label=key, floor=floor, slow=False, records=False, spawns=False,
                                 scope_text=lambda scope: "the target", **more)


def fake_samples(rows, tool_list, relative=False):
    workload = types.SimpleNamespace(title="loop", unit="call", relative=relative, scope="process", remark="")
    samples = measure.Samples(workload, tool_list)
    samples.rows.update(rows)
    return samples


def row(base, value, number=0, **floors):
    pack = lambda ns: {"getppid": ns}  # noqa: E731
    return {"round": number, "base": pack(base), "value": pack(value),
            **{key: pack(ns) for key, ns in floors.items()}}


class StatsTest(unittest.TestCase):
    def test_figure_is_median_and_spread_and_drops_what_noise_left_undefined(self):
        figure = stats.Figure([3.0, None, 1.0, float("nan"), 2.0])
        self.assertEqual((figure.median, figure.low, figure.high), (2.0, 1.0, 3.0))
        self.assertFalse(stats.Figure([None]))
        self.assertEqual(stats.Figure([]).text(stats.times), "n/a")

    def test_three_significant_digits_and_a_unit(self):
        self.assertEqual(stats.duration(45.83), "45.8 ns")
        self.assertEqual(stats.duration(4_092), "4.09 µs")
        self.assertEqual(stats.duration(150e6), "150 ms")
        self.assertEqual(stats.added(-1500), "−1.50 µs")
        self.assertEqual(stats.times(0.99999), "×1.00")

    def test_nothing_is_divided_by_a_floor_that_noise_made_negative(self):
        self.assertIsNone(stats.quotient(5, -1))


class RequirementsTest(unittest.TestCase):
    def test_ratio_is_taken_inside_each_round(self):
        # The machine got twice as slow in the second round; the ratio did not change.
        samples = fake_samples({"overdue": [row(50, 170, clock=150), row(100, 340, clock=300)]},
                               [fake_tool("overdue")])
        figure = requirements.added_ratios(samples, "overdue", "clock")
        self.assertAlmostEqual(figure.median, 1.2)
        self.assertAlmostEqual(figure.high - figure.low, 0)

    def verdicts(self, results, peers=()):
        return {verdict.key: verdict for verdict in requirements.judge(results, peers)}

    def test_default_cost_met_and_missed(self):
        cheap = fake_samples({"overdue": [row(50, 170, clock=150)]}, [fake_tool("overdue")])
        dear = fake_samples({"overdue": [row(50, 180, clock=150)]}, [fake_tool("overdue")])
        self.assertIs(self.verdicts({"getppid": cheap})["default"].met, True)
        self.assertIs(self.verdicts({"getppid": dear})["default"].met, False)
        self.assertEqual(self.verdicts({"getppid": dear})["default"].word(), "MISSED")
        self.assertIsNone(self.verdicts({})["default"].met)

    def test_a_cost_reached_by_missing_calls_does_not_count(self):
        samples = fake_samples({"overdue": [row(50, 60, clock=150)]}, [fake_tool("overdue")])
        samples.miscounted.add("overdue")
        self.assertIs(self.verdicts({"getppid": samples})["default"].met, False)

    def test_rounds_that_disagree_with_the_median_are_told(self):
        rows = [row(50, 170, clock=150), row(50, 171, clock=150), row(50, 200, clock=150)]
        verdict = self.verdicts({"getppid": fake_samples({"overdue": rows}, [fake_tool("overdue")])})["default"]
        self.assertEqual(verdict.word(), "met, but not in every round")

    def test_cheaper_than_the_cheapest_peer(self):
        peer = fake_tool("peer")
        rows = {"overdue": [row(50, 170, clock=150)], "peer": [row(50, 165, clock=150)]}
        samples = fake_samples(rows, [fake_tool("overdue"), peer])
        self.assertIs(self.verdicts({"getppid": samples}, [peer])["cheapest"].met, False)

    def test_loss_needs_every_call_counted_at_the_full_rate(self):
        good = {"made": 100, "seen": 100, "lost": 0, "rate": 1e6}
        for change, met in (({}, True), ({"lost": 1, "seen": 99}, False), ({"seen": 99}, False),
                            ({"rate": 0.5e6}, None)):
            self.assertIs(self.verdicts({"loss": {**good, **change}})["loss"].met, met, change)
        self.assertIsNone(self.verdicts({"loss": "overdue is not there"})["loss"].met)

    def test_calls_may_lose_but_must_account(self):
        run = {"made": 100, "seen": 90, "lost": 10, "rate": 5e5}
        self.assertIs(self.verdicts({"calls-loss": run})["calls-account"].met, True)
        self.assertIs(self.verdicts({"calls-loss": {**run, "lost": 9}})["calls-account"].met, False)

    def test_redis_is_judged_by_points_of_throughput_beyond_the_empty_hooks(self):
        # Requests of 100 ns: 10 % lost under empty hooks, 11 % under ours.
        pack = lambda ns: {"GET": ns, "SET": ns}  # noqa: E731
        rows = [{"round": 0, "base": pack(100), "value": pack(100 / 0.89), "empty": pack(100 / 0.90)}]
        samples = fake_samples({"overdue": rows}, [fake_tool("overdue")], relative=True)
        figure = requirements.lost_beyond(samples, "overdue", "empty", "GET")
        self.assertAlmostEqual(figure.median, 0.01)


class MeasureTest(unittest.TestCase):
    def test_a_rounds_floor_is_shared_with_rows_that_have_none(self):
        floor, tool, own = fake_tool("clock", floor=True), fake_tool("tool"), fake_tool("own")
        samples = fake_samples({"clock": [row(50, 100)], "tool": [row(100, 300)],
                                "own": [row(50, 90, clock=77)]}, [floor, tool, own])
        measure.share_floors(samples, 0)
        self.assertEqual(samples.rows["tool"][0]["clock"], {"getppid": 200})  # scaled to its base
        self.assertEqual(samples.rows["own"][0]["clock"], {"getppid": 77})

    def test_a_tool_that_missed_calls_is_marked(self):
        samples = fake_samples({}, [])
        measure.check_counts(fake_tool("t"), {"lost": 0, "counts": {"getppid": 9}}, 10, "getppid", samples)
        self.assertEqual(samples.notes, ["t: counted 9 getppid calls of 10 in one round"])


class ToolsTest(unittest.TestCase):
    def read(self, text):
        with tempfile.NamedTemporaryFile("w", delete=False) as file:
            file.write(text)
        try:
            return tools.read_calls(file.name)
        finally:
            os.unlink(file.name)

    def test_calls_are_counted_and_the_receipt_is_the_last_line(self):
        facts = self.read('{"type":"call","name":"getppid"}\n{"type":"call","name":"read"}\n'
                          '{"type":"call","name":"getppid"}\n{"type":"receipt","events":3,"lost":3}\n')
        self.assertEqual((facts["counts"], facts["lost"]), ({"getppid": 2}, 3))

    def test_a_file_without_a_receipt_is_no_result(self):
        with self.assertRaises(Unavailable):
            self.read('{"type":"call","name":"getppid"}\n')
        with self.assertRaises(Unavailable):
            self.read("")

    def test_the_line_that_says_what_is_missing_is_the_reason(self):
        self.assertEqual(tools.reason_in("hello\nUnable to find headers\nTraceback\n"),
                         "Unable to find headers")

    def test_tools_that_follow_no_children_watch_everything_instead(self):
        by_key = {tool.key: tool for tool in tools.peers()}
        self.assertIsNone(by_key["bpftrace"].target_of("tree", 7))
        self.assertEqual(by_key["strace"].target_of("tree", 7), 7)
        self.assertTrue(by_key["strace"].reason_unfit("system"))


class ReportTest(unittest.TestCase):
    def test_document_has_environment_before_figures_and_names_what_did_not_run(self):
        samples = fake_samples({"tool": [row(50, 100, clock=90)]}, [fake_tool("tool"), fake_tool("gone")])
        samples.unavailable["gone"] = "not installed"
        verdict = requirements.Verdict("default", "cost", "≤ ×1.25", "×1.30", False)
        text = report.document([("kernel", "6.18")], [verdict], {"default": "because"},
                               [report.workload_section(samples)], "")
        self.assertLess(text.index("6.18"), text.index("MISSED"))
        self.assertIn("| MISSED | because |", text)
        self.assertIn("* gone: not installed", text)
        self.assertIn("| tool | the target | 100 ns | +50.0 ns | ×2.00 | ×1.25 |", text)
        self.assertIn("0 met, 1 MISSED, 0 not measured", text)


if __name__ == "__main__":
    unittest.main()
