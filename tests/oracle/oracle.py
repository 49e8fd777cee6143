#!/usr/bin/python3
"""oracle.py NAME: does Overdue see the system calls of program NAME that strace and the kernel see?

1. strace runs the program until two runs agree in every call and count, at most five times. Calls
   whose count differs between strace runs vary by themselves; all others are steady.
2. Overdue runs the program. Steady calls must have strace's exact count. Varying calls must be
   there if every strace run had them. No other call may appear. No call is excluded by name.
3. The kernel's own tracer (a tracefs instance) counts the very run that Overdue measures. Every
   count must be equal, steady or not, also for a server under load. No second try excuses a
   difference.
4. strace slows the program down, and so changes counts that depend on time: how full a pipe is when
   it is read, whether a lock is contended. If 2 finds a difference that 3 confirms, the program
   runs a few times with the kernel's tracer alone. Counts that differ between these runs, or from
   strace's, depend on time. Overdue's count must then lie in the range of all of them, and every
   such call is printed. If the runs at full speed agree with strace, Overdue is wrong.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import overdue_test  # noqa: E402
import programs  # noqa: E402
import reference  # noqa: E402

STRACE_RUNS = 5
OVERDUE_RUNS = 3
FULL_SPEED_RUNS = 4


def run_once(make, folder, runner):
    """Prepares the folder anew, calls runner(program), and returns its result."""
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    program = make(folder)
    if not program.drive:
        return runner(program)
    trouble = []

    def drive():
        try:
            program.drive()
        except BaseException as error:  # reported by the main thread
            trouble.append(error)

    client = threading.Thread(target=drive)
    client.start()
    try:
        result = runner(program)
    finally:
        client.join()
    if trouble:
        raise trouble[0]
    return result


def strace_run(program):
    """(name → calls, name → number)"""
    counts, numbers, finished = reference.strace_counts(program.command, env=program.env,
                                                  cwd=program.cwd)
    check_status(program, finished, "strace")
    return counts, numbers


def witnessed_run(witness, command, program, who):
    """Runs the command under the kernel's tracer; returns its process id."""
    with subprocess.Popen(command, cwd=program.cwd, env=program.env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=witness.adopt_me) as process:
        try:
            out, err = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.terminate()
            raise
        check_status(program, overdue_test.Finished(process.returncode, out, err, 0), who)
        return process.pid


def overdue_run(program):
    """(report, calls by number as the kernel's own tracer saw them)"""
    with reference.Witness() as witness, tempfile.TemporaryDirectory() as made:
        path = os.path.join(made, "report.json")
        command = [overdue_test.OVERDUE, "syscalls", "-f", "json", "-o", path, "--",
                   *program.command]
        pid = witnessed_run(witness, command, program, "overdue")
        with open(path, encoding="utf-8") as file:
            return json.load(file), witness.calls_below(pid)


def full_speed_run(program):
    with reference.Witness() as witness:
        pid = witnessed_run(witness, program.command, program, "nothing")
        return witness.calls_from(pid)


def check_status(program, finished, who):
    expected = program.status
    if who == "overdue" and expected < 0:
        expected = 128 - expected
    if finished.status != expected:
        raise AssertionError(f"under {who}, status is not {expected}: {finished}")


def by_number(report):
    """number → calls, without refused calls, which the kernel's tracer does not see."""
    found = {}
    for row in report["syscalls"]:
        number = row["id"] & 0xFFFFFFFF
        found[number] = found.get(number, 0) + row["calls"] - row["refused"]
    return {number: calls for number, calls in found.items() if calls}


def differences(expected, found):
    return {key: (expected.get(key, 0), found.get(key, 0))
            for key in sorted(set(expected) | set(found), key=str)
            if expected.get(key, 0) != found.get(key, 0)}


def steady_and_varying(strace_runs):
    names = set().union(*strace_runs)
    varying = {name for name in names if len({one.get(name, 0) for one in strace_runs}) > 1}
    return {name: strace_runs[0][name] for name in names - varying}, varying


def judge(strace_runs, numbers, full_speed_runs, report, seen):
    """(failures, remarks, whether the program itself could be the cause of the failures)"""
    ours = overdue_test.counts(report)
    numbers = {row["name"]: row["id"] & 0xFFFFFFFF for row in report["syscalls"]} | numbers
    if len(set(numbers.values())) < len(numbers):
        full_speed_runs = []  # two calls share a number, so these runs excuse no difference
    steady, varying = steady_and_varying(strace_runs)
    failures, remarks = [], []
    if report["receipt"]["lost"] != 0:
        return [f"lost: {report['receipt']}"], remarks, False
    if seen is None:
        remarks.append("the kernel's trace buffer overflowed: no second witness")
    elif seen != by_number(report):
        wrong = differences(seen, by_number(report))
        return [f"the kernel's tracer disagrees on this very run; number: (kernel, overdue): "
                f"{wrong}"], remarks, False
    for name in sorted(set(ours) | set(steady) | varying):
        found = ours.get(name, 0)
        strace = [one.get(name, 0) for one in strace_runs]
        fast = [one.get(numbers.get(name), 0) for one in full_speed_runs]
        text = f"{name}: strace {strace}, overdue {found}"
        text += f", at full speed {fast}" if fast else ""
        if name in varying:
            remarks.append(f"varies: {text}")
            if min(strace) > 0 and found == 0 and not fast:
                failures.append(text)
        elif found != strace[0]:
            depends_on_time = set(fast) - set(strace)
            if depends_on_time and min(fast + strace) <= found <= max(fast + strace):
                remarks.append(f"depends on time: {text}")
            else:
                failures.append(text)
    return failures, remarks, True


def compare(name, folder):
    make = getattr(programs, name)
    strace_runs, numbers, full_speed_runs = [], {}, []
    while len(strace_runs) < STRACE_RUNS:
        one, new_numbers = run_once(make, folder, strace_run)
        numbers |= new_numbers
        agreed = one in strace_runs
        strace_runs.append(one)
        if agreed:
            break
    steady, varying = steady_and_varying(strace_runs)
    print(f"{name}: {len(strace_runs)} strace runs, {len(steady)} calls steady, "
          f"{len(varying)} varying; {sum(strace_runs[0].values())} calls in the first")
    for _ in range(OVERDUE_RUNS):
        report, seen = run_once(make, folder, overdue_run)
        failures, remarks, try_again = judge(strace_runs, numbers, full_speed_runs, report,
                                             seen)
        if failures and try_again:
            runs = (run_once(make, folder, full_speed_run) for _ in range(FULL_SPEED_RUNS))
            full_speed_runs += [one for one in runs if one is not None]
            failures, remarks, try_again = judge(strace_runs, numbers, full_speed_runs,
                                                 report, seen)
            full_speed_runs += [seen] if seen else []  # for the next judgement
        for remark in remarks:
            print("  note:", remark)
        if not failures:
            print(f"  equal; overdue saw {sum(overdue_test.counts(report).values())} calls")
            return 0
        print("  DIFFERENT:", *failures, sep="\n    ")
        if not try_again:
            break
    return 1


def main(name):
    try:
        overdue_test.require_root()
        overdue_test.tool("strace")
        with tempfile.TemporaryDirectory() as made:
            os.chmod(made, 0o755)
            return compare(name, os.path.join(made, "run"))
    except unittest.SkipTest as reason:
        print(f"SKIPPED {name}: {reason}")
        return overdue_test.SKIPPED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
