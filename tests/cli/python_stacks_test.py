#!/usr/bin/python3
"""Python functions in user stacks: a script's own account of where it waited and computed."""
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import main, overdue, require_root

# Each wait is on a line that ends in "# wait NAME"; the script prints how often it waited in which functions.
SCRIPT = '''
import asyncio, threading, time

def nap():
    time.sleep(0.012)  # wait nap

class Server:
    def handle(self):
        def inner():
            nap()
        inner()

def numbers():
    for i in range(3):
        nap()
        yield i

def by_sleep(x):
    nap()
    return x

def sorting():
    sorted([3, 1, 2], key=by_sleep)

async def talk():
    nap()

async def conversation():
    await talk()

lock = threading.Lock()

def waiter():
    with lock:
        pass

def locking():
    lock.acquire()
    thread = threading.Thread(target=waiter)
    thread.start()
    nap()
    lock.release()
    thread.join()

def run():
    Server().handle()
    list(numbers())
    sorting()
    asyncio.run(conversation())
    locking()

time.sleep(DELAY)
for i in range(ROUNDS):
    run()
'''
COMPUTE = '''
import time

def spin(until):
    while time.monotonic() < until:
        for i in range(10000):
            pass

def outer():
    spin(time.monotonic() + 2.5)

outer()
'''
ROUNDS = 25
DELAY = 5  # s; a program that Overdue starts has been seen by then, on a busy machine too
# Innermost first, of each place in which the main thread sleeps; how often in a round.
PATHS = {
    ("nap", "Server.handle.<locals>.inner", "Server.handle", "run", "<module>"): 1,
    ("nap", "numbers", "run", "<module>"): 3,
    ("nap", "by_sleep", "sorting", "run", "<module>"): 3,
    ("nap", "locking", "run", "<module>"): 1,
}
OWN = {"nap", "Server.handle.<locals>.inner", "Server.handle", "numbers", "by_sleep", "sorting", "talk", "conversation",
       "waiter", "locking", "run", "<module>"}


def python_frames(stack):
    return [frame for frame in stack if frame["module"] == "[python]"]


def names(frames):
    return tuple(frame["name"] for frame in frames)


class PythonStacks(unittest.TestCase):
    def setUp(self):
        require_root()
        if sys.version_info < (3, 11) or sysconfig.get_config_var("Py_GIL_DISABLED"):
            self.skipTest("no CPython from 3.11 on with a GIL")
        folder = tempfile.TemporaryDirectory(prefix="odp-", dir="/var/tmp")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def script(self, text):
        path = os.path.join(self.folder, "script.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def own_script(self, rounds=ROUNDS, delay=DELAY):
        return self.script(SCRIPT.replace("ROUNDS", str(rounds)).replace("DELAY", str(delay)))

    def stalls(self, *options):
        self.path = self.own_script()
        finished = overdue("stalls", "--stdout", "--idle", "-T", "10ms", "--span", "syscall", "-f", "ndjson", *options, "--",
                           sys.executable, self.path, timeout=120)
        self.assertEqual(finished.status, 0, finished)
        return [record for record in map(json.loads, finished.out.splitlines()) if record["type"] == "stall"], finished

    def assert_agree(self, stalls, finished):
        """Compares the stalls with the script's own account."""
        seen, unnamed = {}, []
        for stall in stalls:
            frames = python_frames(stall.get("user_stack", []))
            own = [frame for frame in frames if frame.get("file") == self.path]
            self.assertLessEqual(set(names(own)), OWN, stall)
            # While modules are imported, their code is gone before its name is read.
            if "run" in names(own) or "waiter" in names(own):
                unnamed += [stall] * any(not frame["name"] or not frame.get("line") for frame in frames)
            seen[names(frames)] = seen.get(names(frames), 0) + 1
            if "nap" in names(own):
                line = SCRIPT[: SCRIPT.index("# wait nap")].count("\n") + 1
                self.assertEqual(own[0]["line"], line, stall)
        self.assertLessEqual(len(unnamed), len(stalls) // 50, unnamed)
        for path, count in PATHS.items():
            # The kernel hides a few switches from BPF programs, and a busy machine loses records.
            self.assertGreaterEqual(seen.get(path, 0), count * ROUNDS * 9 // 10, f"{path}: {seen}")
            self.assertLessEqual(seen.get(path, 0), count * ROUNDS, f"{path}: {seen}")
        coroutines = sum(count for path, count in seen.items() if path[:3] == ("nap", "talk", "conversation"))
        self.assertGreaterEqual(coroutines, ROUNDS * 9 // 10, seen)
        locks = sum(count for path, count in seen.items() if path[:1] == ("waiter",))
        self.assertGreaterEqual(locks, ROUNDS * 8 // 10, seen)

    def test_stalls_have_the_functions_of_the_script(self):
        stalls, finished = self.stalls()
        self.assert_agree(stalls, finished)
        # The C function between two Python functions is where it was.
        sorted_stack = next(stall["user_stack"] for stall in stalls if "by_sleep" in names(stall["user_stack"]))
        order = [frame["module"] == "[python]" for frame in sorted_stack]
        inner = names(sorted_stack).index("by_sleep")
        outer = names(sorted_stack).index("sorting")
        self.assertIn(False, order[inner:outer], sorted_stack)

    def test_recordings_have_them_too(self):
        self.path = self.own_script()
        file = os.path.join(self.folder, "run.odt")
        finished = overdue("record", "-o", file, "-T", "10ms", "--", sys.executable, self.path, timeout=120)
        self.assertEqual(finished.status, 0, finished)
        report = overdue("report", file, "--view", "stalls", "--idle", "-f", "ndjson")
        stalls = [record for record in map(json.loads, report.out.splitlines()) if record["type"] == "stall"]
        self.assert_agree([stall for stall in stalls if stall["span"] == "syscall"], report)

    def test_profiles_have_them(self):
        path = self.script(COMPUTE)
        finished = overdue("profile", "--stdout", "-f", "folded", "--", sys.executable, path, timeout=120)
        self.assertEqual(finished.status, 0, finished)
        all_samples = spins = 0
        for line in finished.out.splitlines():
            stack, count = line.rsplit(" ", 1)
            all_samples += int(count)
            spins += int(count) if "<module>;outer;spin" in stack else 0
        self.assertGreater(all_samples, 50, finished)
        self.assertGreaterEqual(spins, all_samples * 7 // 10, finished)

    def test_waits_have_them(self):
        path = self.own_script()
        flame = os.path.join(self.folder, "waits.folded")
        finished = overdue("offcpu", "--stdout", "--by", "stack", "--flame", flame, "--", sys.executable, path, timeout=120)
        self.assertEqual(finished.status, 0, finished)
        with open(flame, encoding="utf-8") as file:
            folded = file.read()
        own = "\n".join(";".join(name for name in line.split(";") if name in OWN) for line in folded.splitlines())
        self.assertIn("run;numbers;nap", own, finished)
        self.assertIn("Server.handle;Server.handle.<locals>.inner;nap", own, finished)

    def test_without_the_feature_the_interpreter_stays(self):
        stalls, finished = self.stalls("--without", "python")
        self.assertGreater(len(stalls), ROUNDS, finished)
        for stall in stalls:
            self.assertEqual(python_frames(stall.get("user_stack", [])), [], stall)
        with_interpreter = [stall for stall in stalls if "_PyEval_EvalFrameDefault" in names(stall.get("user_stack", []))]
        self.assertGreater(len(with_interpreter), ROUNDS, finished)

    def test_a_running_program_is_found(self):
        path = self.own_script(rounds=1000000, delay=0)
        with subprocess.Popen([sys.executable, path], stdout=subprocess.DEVNULL) as process:
            try:
                finished = overdue("stalls", "--stdout", "--idle", "-T", "10ms", "--span", "syscall", "-f", "ndjson", "-p",
                                   process.pid, "-d", "3s", timeout=60)
            finally:
                process.kill()
        stalls = [record for record in map(json.loads, finished.out.splitlines()) if record["type"] == "stall"]
        named = [stall for stall in stalls if "nap" in names(stall.get("user_stack", []))]
        self.assertGreater(len(named), 20, finished)


if __name__ == "__main__":
    main()
