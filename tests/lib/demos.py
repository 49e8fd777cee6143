"""Runs of `overdue demo`, and the events that its programs write of themselves."""
import json
import os

from overdue_test import run, workload

DEMOS = ("sleep", "mmap", "io", "lock", "cpu", "irq")

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def events_of(text):
    return [json.loads(line) for line in text.splitlines()]


def of_type(events, kind):
    return [event for event in events if event["type"] == kind]


def demo(name, *arguments, status=0, **options):
    """Runs the demo; returns its events."""
    finished = run([workload(f"{name}-demo"), *map(str, arguments)], **options)
    assert finished.status == status, finished
    return events_of(finished.out)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def threads_of(pid):
    return {read(f"/proc/{pid}/task/{tid}/comm").strip() for tid in os.listdir(f"/proc/{pid}/task")}
