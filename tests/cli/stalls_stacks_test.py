#!/usr/bin/python3
"""`overdue stalls`: user stacks are complete, from the start of the program to the call, whatever the program is."""
import collections
import json
import os
import re
import shutil
import signal
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import Live, attached, eventually, main, run, tool, workload
from stall_findings import Case, Stalls, functions, stalls, text_of


class UserStacks(Case):
    def test_python(self):
        """An interpreter: complete, whatever its frames are called."""
        seen = stalls("-T", "20ms", "-e", "clock_nanosleep", "--", tool("python3"), "-c",
                      "import time; time.sleep(0.03)")
        self.assert_sound(seen)
        finding, = seen.found
        self.assert_complete(finding, "main" if "main" in functions(finding["user_stack"]) else "_start")
        self.assertGreater(len(finding["user_stack"]), 10)
        self.assertIn("clock_nanosleep", functions(finding["user_stack"])[0])

    def test_process_that_ends_at_once(self):
        seen = stalls("-T", "20ms", "-e", "clock_nanosleep", "--", workload("stall_cases"), "exit")
        self.assert_sound(seen)
        finding, = seen.found
        self.assert_complete(finding, "main", "take_a_nap", "clock_nanosleep")

    def test_many_processes_that_end_at_once(self):
        script = f"for i in $(seq 30); do {workload('stall_cases')} exit & done; wait"
        seen = stalls("-T", "20ms", "-e", "clock_nanosleep", "--", "sh", "-c", script)
        self.assert_sound(seen)
        self.assertEqual(len(seen.found), 30)
        self.assertEqual(len({finding["pid"] for finding in seen.found}), 30)
        for finding in seen.found:
            self.assert_complete(finding, "main", "take_a_nap", "clock_nanosleep")

    def test_deleted_program(self):
        """The program begins after a while of measuring, and ends after its nap of 250 ms."""
        with tempfile.TemporaryDirectory() as folder:
            program = shutil.copy(workload("nanosleep_loop"), os.path.join(folder, "gone"))
            # Removed only once it runs: the child then has another program than the shell, or none.
            begun = '[ "$(readlink /proc/$!/exe)" != "$(readlink /proc/$$/exe)" ]'
            seen = stalls("-T", "20ms", "-e", "nanosleep", "--", "sh", "-c",
                          f"sleep 0.7; {program} 1 250000000 & until {begun}; do :; done; rm {program}; wait")
        naps = [finding for finding in seen.found if finding["comm"] == "gone"]
        self.assertEqual(len(naps), 1)
        self.assert_complete(naps[0], "main", "syscall")

    def test_call_within_the_vdso(self):
        """The vDSO asks the kernel for a clock that it cannot read itself."""
        seen = stalls("-T", "1ns", "-e", "clock_gettime", "--", workload("call_paths"), "vdso", 20)
        self.assert_sound(seen)
        asked = [finding for finding in seen.found if "ask_the_vdso" in functions(finding["user_stack"])]
        self.assertEqual(len(asked), 20)
        for finding in asked:
            self.assertEqual(finding["user_stack"][0]["module"], "[vdso]")
            self.assert_complete(finding, "main", "ask_the_vdso", "clock_gettime")
        text, _ = text_of("-T", "1ns", "-e", "clock_gettime", "--", workload("call_paths"), "vdso", 1)
        self.assertRegex(text, r"(?m)^  called from  .*main → ask_the_vdso → clock_gettime → clock_gettime$")

    def test_interrupted_on_the_way_through_a_plt(self):
        """A handler makes the call after each instruction: in the stub, in the loader that looks up
        the function, in the function."""
        seen = stalls("-T", "1ns", "-e", "getppid", "--buffer", "32M", "--", workload("call_paths"), "plt", timeout=120)
        self.assert_sound(seen)
        self.assertEqual(seen.finished.out, f"{len(seen.found)}\n")
        interrupted = collections.Counter()
        for finding in seen.found:
            self.assert_complete(finding, "main", "call_the_library", "on_step", "tell_the_step", "getppid")
            path = finding["user_stack"]
            at = functions(path).index("on_step") + 2  # followed by the signal's frame
            while path[at]["name"] != "call_the_library":
                interrupted[os.path.basename(path[at]["module"]), path[at]["name"]] += 1
                at += 1
        places = collections.Counter()
        for (module, _), times in interrupted.items():
            places[module.partition(".")[0]] += times
        self.assertIn(("call_paths", "answer_of_the_library@plt"), interrupted)
        self.assertGreater(sum(times for module, times in places.items() if module.startswith("ld-")), 20, interrupted)
        self.assertGreater(places["call_paths"], 3, interrupted)  # and the stub's common part, which has no name
        self.assertGreater(places["libworkload_call_paths_library"], 0, interrupted)
        text, _ = text_of("-v", "-T", "1ns", "-e", "getppid", "--first", 0, "--", workload("call_paths"), "plt",
                          timeout=120)
        self.assertRegex(text, r"(?m)^ +answer_of_the_library@plt\S* \(.*/call_paths\)\n +call_the_library\S* \(")


class OtherRoots(Case):
    """Programs with mounts and a root of their own: their paths lead elsewhere here. Their files
    can be read only while the program runs."""

    def setUp(self):
        super().setUp()
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.root = os.path.join(self.folder, "root")
        os.mkdir(self.root)

    def command(self, path, *arguments):
        """A command that runs stall_cases as `path` of a root that is mounted for it alone."""
        program = workload("stall_cases")
        libraries = re.findall(r"(/\S+) \(0x", run([tool("ldd"), program]).out)
        self.assertTrue(libraries)
        script = [f"mount -t tmpfs none {self.root}"]
        for source, place in [(program, path), *((library, library) for library in libraries)]:
            script.append(f"mkdir -p {self.root}{os.path.dirname(place)} && cp -L {source} {self.root}{place}")
        script.append(f"exec chroot {self.root} {path} {' '.join(map(str, arguments))}")
        return [tool("unshare"), "--mount", "sh", "-c", " && ".join(script)]

    def assert_naps(self, naps, path, number):
        self.assertEqual(len(naps), number)
        for nap in naps:
            self.assert_complete(nap, "take_a_nap", "clock_nanosleep")
            modules = {frame["name"]: frame["module"] for frame in nap["user_stack"]}
            self.assertTrue(modules["take_a_nap"].endswith(path), modules)

    def test_path_that_is_nowhere_here(self):
        seen = stalls("-T", "20ms", "-e", "clock_nanosleep", "--", *self.command("/inner/napper", "stay"))
        self.assert_sound(seen)
        self.assert_naps(seen.found, "/inner/napper", 1)
        self.assert_complete(seen.found[0], "main", "take_a_nap")
        self.assertEqual(os.listdir(self.root), [])

    def test_path_of_another_program_here(self):
        seen = stalls("-T", "20ms", "-e", "clock_nanosleep", "--", *self.command("/usr/bin/true", "stay"))
        self.assert_sound(seen)
        self.assert_naps(seen.found, "/usr/bin/true", 1)
        self.assert_complete(seen.found[0], "main", "take_a_nap")

    def test_running_process(self):
        """A process with files opened before the session. Each thread naps once, for 3 ms."""
        with Live(*self.command("/inner/napper", "threads", 100000)) as target:
            eventually(lambda: os.readlink(f"/proc/{target.pid}/exe").endswith("/inner/napper"), what="never ran")
            with attached("stalls", "-T", "2ms", "-e", "clock_nanosleep", "-f", "ndjson", "--buffer", "1M", "-p",
                          target.pid, settle=0) as live:  # more naps than there is room for
                eventually(lambda: live.out().count("\n") > 200, timeout=60, what="hardly any naps")
                live.signal(signal.SIGINT)
                finished = live.finish(timeout=60)
        seen = Stalls([json.loads(line) for line in finished.out.splitlines()], finished)
        self.assertGreater(len(seen.found), 100)
        self.assert_naps(seen.found, "/inner/napper", len(seen.found))
        for finding in seen.found:
            self.assert_complete(finding, "nap_in_thread", "take_a_nap")

    def test_text(self):
        text, finished = text_of("-T", "20ms", "-e", "clock_nanosleep", "--", *self.command("/inner/napper", "stay"))
        self.assertEqual(finished.status, 0, finished)
        self.assertRegex(text, r"(?m)^  called from  .*main → take_a_nap → .*clock_nanosleep$")


if __name__ == "__main__":
    main()
