#!/usr/bin/python3
"""--lines: file, line and inlined functions, live, recorded, and later; from a sandboxed child."""
import contextlib
import http.server
import os
import shutil
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import (NOBODY, OVERDUE, FolderTest, main, overdue, read_ndjson, run, tool,
                          workload)

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "workloads",
                      "inlined_nap.cc")


def line_of(mark):
    """The line of the source with the remark `mark`."""
    with open(SOURCE, encoding="utf-8") as source:
        lines = [number for number, line in enumerate(source, 1) if f"// {mark}:" in line]
    assert len(lines) == 1, (mark, lines)
    return lines[0]


@contextlib.contextmanager
def debuginfod(folder):
    """Serves the files in `folder`. Yields (address, requested paths)."""
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=folder)

        def log_message(self, *_):
            asked.append(self.path)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


class StallsLines(FolderTest):
    def live(self, *options, program=None, env=None):
        report = f"{self.folder}/live"
        finished = overdue("stalls", "--idle", "-T", "10ms", *options, "-o", report, "--",
                           program or workload("inlined_nap"), env=env)
        self.assertEqual(finished.status, 0, finished)
        with open(report, encoding="utf-8") as file:
            return file.read()

    def report(self, *options, env=None):
        report = f"{self.folder}/report"
        finished = overdue("report", self.file, "--idle", *options, "-o", report, env=env)
        self.assertEqual(finished.status, 0, finished)
        with open(report, encoding="utf-8") as file:
            return file.read()

    def own_frames(self, path, program="inlined_nap"):
        """For each stall, (name, line, whether inlined) of the program's frames up to main."""
        stacks = []
        for line in read_ndjson(path):
            if line["type"] != "stall" or line["name"] != "clock_nanosleep":
                continue
            own = []
            for frame in line["user_stack"]:
                if frame["module"].endswith("/" + program):
                    own.append((frame["name"], frame.get("line"), frame.get("inlined", False)))
                    if "file" in frame:
                        self.assertTrue(frame["file"].endswith("inlined_nap.cc"), frame)
                if frame["name"] == "main":
                    break
            stacks.append(own)
        self.assertEqual(len(stacks), 3)
        return stacks

    def with_lines(self):
        return [("nap", line_of("nap"), True), ("doze", line_of("doze"), False),
                ("main", line_of("main"), False)]

    def without_demangled(self, stacks):
        return [[(name.replace("(anonymous namespace)", "").split("(")[0].split("::")[-1], line, inlined)
                 for name, line, inlined in stack] for stack in stacks]

    def check(self, path, **options):
        for stack in self.without_demangled(self.own_frames(path, **options)):
            self.assertEqual(stack, self.with_lines())

    def test_live_and_recorded(self):
        self.live("--lines", "-f", "ndjson", "--save", self.file)
        self.check(f"{self.folder}/live")
        with open(f"{self.folder}/live", encoding="utf-8") as live:
            self.assertEqual(self.report("-f", "ndjson"), live.read())

    def test_text(self):
        text = self.live("--lines")
        self.assertRegex(text, r"called from  main → doze.* → .*nap.* → clock_nanosleep, "
                         rf"inlined_nap.cc:{line_of('nap')}\n")
        self.assertNotIn("resolver", text)
        report = f"{self.folder}/v"
        finished = overdue("stalls", "--idle", "-T", "10ms", "--lines", "-v", "-o", report, "--",
                           workload("inlined_nap"))
        self.assertEqual(finished.status, 0, finished)
        with open(report, encoding="utf-8") as file:
            text = file.read()
        self.assertRegex(text, rf"\n +.*nap.* \(.*/inlined_nap\) .*inlined_nap.cc:{line_of('nap')} "
                         r"\(inlined\)\n"
                         rf" +doze.* \(.*/inlined_nap\) .*inlined_nap.cc:{line_of('doze')}\n"
                         rf" +main.* \(.*/inlined_nap\) .*inlined_nap.cc:{line_of('main')}\n")

    def test_without_it_there_are_none(self):
        self.live("-f", "ndjson")
        for stack in self.without_demangled(self.own_frames(f"{self.folder}/live")):
            self.assertEqual(stack, [("doze", None, False), ("main", None, False)])

    def test_found_later_as_anybody(self):
        self.live("--no-resolve", "--save", self.file)
        self.report("--lines", "-f", "ndjson")
        self.check(f"{self.folder}/report")
        os.chmod(self.file, 0o644)
        ours = shutil.copy(OVERDUE, f"{self.folder}/overdue")
        os.chmod(ours, 0o755)
        shown = run([*NOBODY, ours, "report", self.file, "--idle", "--lines", "-f", "ndjson"], cwd="/")
        self.assertEqual(shown.status, 0, shown)
        with open(f"{self.folder}/report", encoding="utf-8") as report:
            self.assertEqual(shown.utf8, report.read())

    def test_another_build_has_none(self):
        program = f"{self.folder}/inlined_nap"
        shutil.copy(workload("inlined_nap"), program)
        self.live("--no-resolve", "--save", self.file, program=program)
        os.unlink(program)
        shutil.copy(workload("sleep-demo"), program)
        self.report("--lines", "-f", "ndjson")
        for stack in self.own_frames(f"{self.folder}/report"):
            for name, line, _ in stack:
                self.assertFalse(name or line, stack)

    def test_debug_file_beside_it(self):
        program = f"{self.folder}/stripped"
        subprocess.run([tool("objcopy"), "--only-keep-debug", workload("inlined_nap"),
                        f"{program}.debug"], check=True)
        subprocess.run([tool("objcopy"), "--strip-all", f"--add-gnu-debuglink={program}.debug",
                        workload("inlined_nap"), program], check=True)
        self.live("--lines", "-f", "ndjson", program=program)
        self.check(f"{self.folder}/live", program="stripped")
        os.unlink(f"{program}.debug")
        self.live("--lines", "-f", "ndjson", program=program)
        for stack in self.own_frames(f"{self.folder}/live", program="stripped"):
            for name, line, inlined in stack:
                self.assertFalse(name or line or inlined, stack)

    def test_needs_names(self):
        finished = overdue("stalls", "--idle", "-T", "10ms", "--no-resolve", "--lines", "--",
                           workload("inlined_nap"))
        self.assertEqual(finished.status, 2)
        self.assertIn("overdue report FILE --lines", finished.err)

    # ── --debuginfod ──

    def stripped(self):
        """(A program without symbols and lines, its build id, the client's cache and environment).
        The debug file is ready to be served by build id."""
        tool("debuginfod-find")
        program = f"{self.folder}/stripped"
        subprocess.run([tool("objcopy"), "--strip-all", workload("inlined_nap"), program],
                       check=True)
        notes = subprocess.run([tool("readelf"), "--notes", program], check=True,
                               capture_output=True, text=True).stdout
        build_id = notes.split("Build ID: ")[1].split()[0]
        served = f"{self.folder}/served/buildid/{build_id}"
        os.makedirs(served)
        subprocess.run([tool("objcopy"), "--only-keep-debug", workload("inlined_nap"),
                        f"{served}/debuginfo"], check=True)
        cache = f"{self.folder}/cache"
        os.makedirs(cache)
        environment = {**os.environ, "DEBUGINFOD_CACHE_PATH": cache}
        return program, build_id, cache, environment

    def test_debug_file_from_a_server(self):
        program, build_id, cache, environment = self.stripped()
        with debuginfod(f"{self.folder}/served") as (address, asked):
            environment["DEBUGINFOD_URLS"] = address
            text = self.live("--lines", "-f", "ndjson", program=program, env=environment)
            self.assertEqual(asked, [])  # no request without --debuginfod
            self.assertFalse(os.listdir(cache))
            self.assertNotIn("debuginfod", text)
            for folder in (self.folder, cache):
                os.chown(folder, 65534, 65534)
            os.unlink(f"{self.folder}/live")
            environment.update(SUDO_UID="65534", SUDO_GID="65534")
            text = self.live("--lines", "--debuginfod", "-f", "ndjson", "--save", self.file,
                             program=program, env=environment)
            self.check(f"{self.folder}/live", program="stripped")
            self.assertIn(f"/buildid/{build_id}/debuginfo", asked)
            self.assertIn("debug files by debuginfod: 1", text)
            kept = os.path.join(cache, build_id, "debuginfo")
            self.assertEqual(os.stat(kept).st_uid, 65534)  # fetched as the user behind sudo
            before = asked.count(f"/buildid/{build_id}/debuginfo")
            self.live("--debuginfod", "-f", "ndjson", program=program, env=environment)
            for stack in self.own_frames(f"{self.folder}/live", program="stripped"):
                self.assertEqual([name.split("(")[0] for name, _, _ in stack], ["doze", "main"])
            self.assertEqual(asked.count(f"/buildid/{build_id}/debuginfo"), before)

    def test_debug_file_from_a_server_later(self):
        program, _, _, environment = self.stripped()
        self.live("--no-resolve", "--save", self.file, program=program)
        with debuginfod(f"{self.folder}/served") as (address, asked):
            environment["DEBUGINFOD_URLS"] = address
            self.report("--lines", "-f", "ndjson", env=environment)
            self.assertEqual(asked, [])
            text = self.report("--lines", "--debuginfod", "-f", "ndjson", env=environment)
            self.check(f"{self.folder}/report", program="stripped")
            self.assertIn("debug files by debuginfod: 1", text)
            self.report("--debuginfod", "-f", "ndjson", env=environment)
            for stack in self.own_frames(f"{self.folder}/report", program="stripped"):
                self.assertEqual([name.split("(")[0] for name, _, _ in stack], ["doze", "main"])

    def test_what_no_server_has_is_a_note(self):
        program, _, _, environment = self.stripped()
        environment["DEBUGINFOD_URLS"] = "http://127.0.0.1:1"
        text = self.live("--lines", "--debuginfod", program=program, env=environment)
        self.assertIn("could not get", text)
        self.assertIn("clock_nanosleep", text)


if __name__ == "__main__":
    main()
