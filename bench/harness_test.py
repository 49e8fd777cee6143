#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The harness's arithmetic and parsers, on made-up figures: no tool runs, nothing is timed."""

import os
import re
import sys
import tempfile
import types
import unittest

sys.dont_write_bytecode = True
SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from fakes import fake_samples, fake_tool, row  # noqa: E402
from harness import accounts, against, built, measure, postgres, programs, report, requirements, stalls, stats, timerlat, tools, worst  # noqa: E402
from harness.process import Unavailable  # noqa: E402


class MissingPrograms(unittest.TestCase):
    def test_it_says_what_to_build(self):
        with tempfile.TemporaryDirectory() as folder:
            options = types.SimpleNamespace(build=folder, overdue=os.path.join(folder, "overdue"), against=None)
            self.assertIn("overdue is not built: run `make build`", built.what_is_missing(options))
            os.mkdir(os.path.join(folder, "bench"))
            for name in ["overdue", *(f"bench/bench_{name}" for name in built.PROGRAMS if name != "pipe")]:
                with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                    os.chmod(file.fileno(), 0o755)
            self.assertIn("run `tools/build release bench_pipe`", built.what_is_missing(options))
            options.against = "/usr/bin/overdue"
            self.assertIn("bench_pipe", built.what_is_missing(options))
            os.rename(os.path.join(folder, "bench", "bench_idle"), os.path.join(folder, "bench", "bench_pipe"))
            self.assertIsNone(built.what_is_missing(options))

    def test_it_knows_all_programs(self):
        with open(os.path.join(SOURCE, "bench", "CMakeLists.txt"), encoding="utf-8") as file:
            made = set(re.findall(r"^(?:bench_workload\(|add_executable\(bench_)([a-z]+)", file.read(), re.M))
        self.assertEqual(made, set(built.PROGRAMS))


class AgainstTest(unittest.TestCase):
    def test_a_ratio_is_that_of_a_round_and_a_drift_cancels(self):
        rows = {"this": [row(100, 220, 0), row(200, 440, 1), row(100, 999, 2)],
                "other": [row(100, 200, 0), row(200, 400, 1)]}
        ratios = against.ratios_of(rows, "getppid")
        self.assertEqual(len(ratios), 2, "rounds that one of them lacks have none")
        for ratio in ratios:
            self.assertAlmostEqual(ratio, 1.1)

    def test_what_could_not_be_measured_is_said(self):
        one = against.Comparison("a loop", "call", stats.Figure([]), stats.Figure([]), stats.Figure([]), "no root")
        self.assertIn("| a loop | not measured: no root |", against.document([one], [("date", "today")], 1, "old"))

    def test_what_a_build_adds_is_compared(self):
        rows = {"this": [row(100, 220, 0)], "other": [row(100, 200, 0)]}
        self.assertAlmostEqual(against.ratios_of(rows, "getppid", added=True)[0], 1.2)


class StatsTest(unittest.TestCase):
    def test_figure_is_median_and_spread_and_drops_what_noise_left_undefined(self):
        figure = stats.Figure([3.0, None, 1.0, float("nan"), 2.0])
        self.assertEqual((figure.median, figure.low, figure.high), (2.0, 1.0, 3.0))
        self.assertEqual(figure.interval, (1.0, 3.0))
        self.assertFalse(stats.Figure([None]))
        self.assertEqual(stats.Figure([]).text(stats.times), "n/a")

    def test_the_interval_of_a_median_leaves_out_no_more_than_a_fortieth_at_either_end(self):
        # How many of 6 and of 10 values lie below the true median: none in 1 of 64 cases; none or one in 11 of 1024.
        for count, interval in ((5, (0, 4)), (6, (0, 5)), (10, (1, 8)), (24, (6, 17)), (1, (0, 0))):
            self.assertEqual(stats.Figure(range(count)).interval, interval, count)

    def test_the_lower_quartile_of_few_is_the_least(self):
        for count, expected in ((1, 0), (4, 0), (5, 1), (16, 3)):
            self.assertEqual(stats.lower_quartile(range(count)), expected)

    def test_three_significant_digits_and_a_unit(self):
        self.assertEqual(stats.duration(45.83), "45.8 ns")
        self.assertEqual(stats.duration(4_092), "4.09 µs")
        self.assertEqual(stats.duration(150e6), "150 ms")
        self.assertEqual(stats.added(-1500), "−1.50 µs")
        self.assertEqual(stats.times(0.99999), "×1.00")
        self.assertEqual([stats.grouped(count) for count in (4_123.4, 23_456, 499_990, 1e6)],
                         ["4 120", "23 500", "500 000", "1 000 000"])

    def test_nothing_is_divided_by_a_floor_that_noise_made_negative(self):
        self.assertIsNone(stats.quotient(5, -1))


class MeasureTest(unittest.TestCase):
    def test_the_judged_run_often_and_others_tools_in_the_first_rounds(self):
        ours, floor, peer = (fake_tool(key, peer=key == "peer") for key in ("ours", "floor", "peer"))
        plan = measure.Plan(None, [ours, floor, peer], judged=["ours"], repeats=2)
        for number, keys in ((0, "floor ours ours peer"), (2, "floor ours ours peer"), (3, "floor ours ours")):
            self.assertEqual(sorted(tool.key for tool in plan.order(plan.tools, number)), keys.split())

    def test_a_workload_that_cannot_start_is_told_and_does_not_end_the_run(self):
        def start():
            raise Unavailable("no such database")
        workload = types.SimpleNamespace(title="pg", table="cost", remark="", scope="process", attach_only=False,
                                         reason_missing=lambda: None, start=start)
        tool = fake_tool("t", reason_missing=lambda: None, reason_unfit=lambda scope, attach_only: None)
        samples = measure.run_rounds(measure.Plan(workload, [tool]), 1, "/nowhere", lambda text: None)
        self.assertIn("Not measured: no such database.", report.workload_section(samples))

    def test_of_several_sections_the_lower_quartile_of_each_series(self):
        sections = iter([{"a": number, "b": 50 - number} for number in (1, 9, 2, 7, 8)])
        instance = types.SimpleNamespace(measure=lambda divisor: next(sections))
        self.assertEqual(measure.quiet_sections(instance, 5), {"a": 2, "b": 42})

    def test_what_was_only_beside_others_becomes_a_tool_of_its_own(self):
        empty, tool = fake_tool("empty", floor=True), fake_tool("tool")
        samples = fake_samples({"tool": [row(50, 90, empty=70), row(60, 99, number=1, empty=80)]}, [tool])
        measure.show_what_was_beside(measure.Plan(None, [tool], judged=["tool"], beside=[empty]), samples)
        self.assertEqual([shown.key for shown in samples.tools], ["empty", "tool"])
        self.assertEqual([(taken["base"]["getppid"], taken["value"]["getppid"]) for taken in samples.rows["empty"]],
                         [(50, 70), (60, 80)])

    def test_two_forms_that_share_a_block_are_judged_alike(self):
        empty, tool, other = fake_tool("empty", floor=True), fake_tool("tool"), fake_tool("other")
        samples = fake_samples({"tool": [row(50, 90, empty=70, other=80)]}, [tool, fake_tool("peer", peer=True)])
        measure.show_what_was_beside(measure.Plan(None, [tool], judged=["tool"], beside=[empty, other]), samples)
        self.assertEqual([shown.key for shown in samples.tools], ["empty", "tool", "other", "peer"])
        figure = requirements.added_shares(samples, "other", "getppid", "empty")
        self.assertEqual(figure.values, [0.2])

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


class TimerlatTest(unittest.TestCase):
    def test_medians_lie_inside_of_buckets(self):
        self.assertAlmostEqual(timerlat.median_of_buckets([(3, 10), (4, 20), (5, 10)]), 4.5)
        with self.assertRaises(Unavailable):
            timerlat.median_of_buckets([(3, 0)])

    def test_cyclictests_columns_are_threads_and_overdues_parts_have_names(self):
        text = "# Histogram\n000003 000002\t000000\n000004 000000\t000004\n# Total: 000000002 000000004\n"
        self.assertEqual(timerlat.read_cyclictest(text, [2, 5]), {2: 3.5, 5: 4.5})
        report_of = '{"cpus": [{"cpu": 1, "thread": {"histogram": [[4000, 5000, 2]]}}]}'
        self.assertEqual(timerlat.read_overdue(report_of), {1: 4.5})

    def test_bookkeeping_is_what_the_noise_hooks_take(self):
        results = timerlat.Results()
        results.alternating = [{"cyclictest": 10, "thread": 10.5}]
        results.together = [{"here": 10, "there": 12}, {"here": 10, "there": 9}]
        results.bookkeeping = [{"noise_irq_entry": 600, "noise_softirq_exit": 500, "lat_switch": 800}]
        verdicts = timerlat.judge(results)
        self.assertEqual([verdict.met for verdict in verdicts], [True, True, False])
        self.assertEqual(verdicts[1].word(), "met, within the noise")  # ×0.83 and ×1.11
        self.assertIn("| all noise_… | 1.10 µs |", timerlat.section(results))
        self.assertEqual(timerlat.judge(None), [])


class WorstTest(unittest.TestCase):
    def test_detail_may_make_a_latency_half_as_long_again(self):
        results = worst.Results()
        self.assertEqual([verdict.met for verdict in worst.judge(results)], [None])
        results.medians = [{"alone": 8, "worst": 10, "events": 14}, {"alone": 8, "worst": 10, "events": 15}]
        results.found = {"worst": [(40, 900, 0)], "events": [(50, 800, 1)]}
        self.assertEqual([verdict.met for verdict in worst.judge(results)], [True])
        self.assertIn("| worst wakeup_rt --events |", worst.section(results))
        results.medians[1]["events"] = 17
        self.assertEqual([verdict.met for verdict in worst.judge(results)], [False])
        self.assertEqual(worst.judge(None), [])


class AccountsTest(unittest.TestCase):
    EMPTY = {"empty_enter": (100, 4000), "empty_exit": (100, 4000)}  # 40 ns a run

    def test_runs_are_those_of_programs_that_were_there_throughout(self):
        first = {1: {"name": "on_switch", "run_cnt": 5, "run_time_ns": 100}, 2: {"name": "idle"},
                 4: {"name": "on_switch"}}
        last = {1: {"name": "on_switch", "run_cnt": 8, "run_time_ns": 400}, 2: {"name": "idle"},
                3: {"name": "later", "run_cnt": 9, "run_time_ns": 9},
                4: {"name": "on_switch", "run_cnt": 1, "run_time_ns": 50}}
        self.assertEqual(programs.runs_between(first, last), {"on_switch": (4, 350)})

    def test_a_program_takes_what_it_does_beyond_an_empty_one(self):
        ours = {"on_sys_enter": (100, 9000), "on_switch": (50, 6000)}
        taken = accounts.share_taken(ours, self.EMPTY, 10, 100_000)
        self.assertEqual(taken["programs"], {"on_sys_enter": (100, 50), "on_switch": (50, 90)})
        self.assertAlmostEqual(taken["share"], 0.095)

    def test_limits_are_judged_and_what_is_missing_is_said(self):
        results = accounts.Accounts()
        results.titles = {"hackbench": "hackbench, stalls", "stalls-pipe": "pipe, stalls"}
        results.rows = {"hackbench": [{"share": 0.01, "programs": {"on_switch": (3, 90.0)}},
                                      {"share": 0.04, "programs": {"on_switch": (5, 70.0)}}]}
        results.floors = {"hackbench": [{"share": 0.02}, {"share": 0.022}]}
        results.missing = {"stalls-pipe": "bench_pipe is not built"}
        verdicts = {verdict.key: verdict.word() for verdict in accounts.judge(results)}
        self.assertEqual(verdicts["account-hackbench"], "met, within the noise")
        self.assertEqual(verdicts["account-stalls-pipe"], "not measured")
        text = accounts.section(results)
        self.assertIn("| on_switch | 4 | 80.0 ns (70.0 ns … 90.0 ns) |", text)
        self.assertIn("| the floor, of that |  | 2.1 % (2.0 % … 2.2 %) |", text)
        self.assertIn("Not measured: bench_pipe is not built.", text)
        self.assertEqual(accounts.judge(None), [])


class ToolsTest(unittest.TestCase):
    def read(self, text, read=tools.read_calls):
        with tempfile.NamedTemporaryFile("w", delete=False) as file:
            file.write(text)
        try:
            return read(file.name)
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

    def read_findings(self, text):
        return self.read(text, stalls.read_findings)

    def test_late_sleeps_are_counted_and_those_with_all_stacks(self):
        kernel = '"hrtimer_nanosleep","hrtimer_wakeup",'
        line = '{"type":"stall","name":"clock_nanosleep","x":[%s%s]}\n'
        frames = '{"name":"go_deep.constprop.0"},'
        facts = self.read_findings(line % (kernel, frames * 29) + line % (kernel, frames * 19)
                                   + line % ("", frames * 29) + '{"type":"stall","name":"read"}\n'
                                   + '{"type":"receipt","lost":2}\n')
        self.assertEqual(facts, {"lost": 2, "findings": 3, "explained": 1})
        with self.assertRaises(Unavailable):
            self.read_findings(line % (kernel, frames))

    def test_forms_of_stalls_look_for_their_hooks(self):
        forms = {tool.key: tool for tool in stalls.forms("/bin/true")}
        self.assertEqual(forms["stalls-offcpu"].command(7, "out")[:6],
                         ["/bin/true", "stalls", "--pid", "7", "--span", "offcpu"])
        self.assertEqual(forms["stalls"].command(None, "out")[2], "--all")
        hooks = {"sys_enter", "sys_exit"}
        original, stalls.bpf_tracepoints = stalls.bpf_tracepoints, lambda pid: hooks
        try:
            child = types.SimpleNamespace(pid=1)
            self.assertFalse(forms["stalls"].attached(child, 7))
            hooks.add("sched_switch")
            self.assertTrue(forms["stalls"].attached(child, 7))
        finally:
            stalls.bpf_tracepoints = original

    def test_pgbenchs_rate_and_the_newest_postgresql(self):
        self.assertEqual(postgres.number_behind("tps = ", "a\ntps = 1234.5 (without initial connection time)\n"), 1234.5)
        self.assertEqual(postgres.number_behind("made: ", "made: 16000/16000\n"), 16000)
        with self.assertRaises(Unavailable):
            postgres.number_behind("tps = ", "nothing")
        paths = [f"/usr/lib/postgresql/{version}/bin" for version in ("9.6", "15", "10")]
        self.assertEqual(max(paths, key=postgres.version_of), paths[1])

    def test_the_line_that_says_what_is_missing_is_the_reason(self):
        self.assertEqual(tools.reason_in("hello\nUnable to find headers\nTraceback\n"),
                         "Unable to find headers")

    def test_tools_that_follow_no_children_watch_everything_instead(self):
        by_key = {tool.key: tool for tool in tools.peers()}
        self.assertIsNone(by_key["bpftrace"].target_of("tree", 7))
        self.assertEqual(by_key["strace"].target_of("tree", 7), 7)
        self.assertTrue(by_key["strace"].reason_unfit("system"))


class ReportTest(unittest.TestCase):
    def test_shares_are_shown_in_all_and_beyond_the_hooks(self):
        floor, tool = fake_tool("empty", floor=True), fake_tool("tool")
        samples = fake_samples({"empty": [row(100, 110)], "tool": [row(100, 130, empty=110)]}, [floor, tool],
                               kind="shares")
        text = report.workload_section(samples)
        self.assertIn("| empty | the target | 110 ns | 10.0 % |  |", text)
        self.assertIn("| tool | the target | 130 ns | 30.0 % | 20.0 % |", text)

    def test_what_a_finding_adds_is_a_row(self):
        tool = fake_tool("finding")
        samples = fake_samples({"finding": [row(100, 1300, stalls=300)]}, [tool], kind="finding")
        samples.reported["finding"] = {"made": 9, "findings": 9, "explained": 8, "lost": 1}
        text = report.workload_section(samples)
        self.assertIn("| a finding adds | +1.00 µs |", text)
        self.assertIn("reported 9 of 9 sleeps, of 8 with all stacks; 1 records were lost", text)

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
