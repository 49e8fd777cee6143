#!/usr/bin/python3
"""Writes docs/scenarios: pages.py [NAME…] runs scenarios, by default all, and writes a page of each with
the output, and README.md, their list. A page is written only if its first screen has the truth."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from scenario import FIRST_SCREEN, HERE, NOTHING, Stage, all_scenarios
from overdue_test import overdue

DOCS = os.path.join(HERE, "..", "..", "docs", "scenarios")
TITLES = {"cpu": "CPU", "disk": "Disks and files", "endless": "Waits that do not end", "idle": "All is well",
          "locks": "Locks", "loops": "Loops and retries", "memory": "Memory", "network": "Network",
          "runtimes": "Java, Node.js, Python"}
NOTHING_READING = "No cause is named: every wait was one for work, or one that the program asked for."


def says_the_truth(text, truth):
    """Whether the first screen of `text` names the cause, who is late, and who is to blame."""
    screen = "\n".join(text.splitlines()[:FIRST_SCREEN])
    if truth is NOTHING:
        return "TOTAL  SHARE" not in screen
    return all(re.search(wanted, screen, re.IGNORECASE) for wanted in (truth.cause, truth.who, truth.by) if wanted)


def page(module):
    with Stage() as stage:
        target = list(map(str, module.start(stage)))
        finished = overdue("why", "-d", "5s", *target)
        if finished.status != 0:
            raise AssertionError(finished)
        # The output of a program that Overdue started is its own.
        shown = finished.err if "--" in target else finished.out
        text = shown.encode("latin-1").decode().replace(stage.folder, "/srv")
        words = " ".join(target).replace(stage.folder, "/srv")
        command = f"why -d 5s {words}" if "--" in target else f"{words} -d 5s"
    if not says_the_truth(text, module.TRUTH):
        raise AssertionError(f"the page would not say the truth:\n{text}")
    text = re.sub(r"(?m)^\w+, Linux", "host, Linux", text)
    lines = "".join(f"    {line}\n" if line else "\n" for line in text.rstrip("\n").split("\n"))
    title = module.__doc__.strip().rstrip(".")
    return (f"# {title}\n\n**Symptom**: {module.SYMPTOM}.\n\n    sudo overdue {command}\n\n"
            f"prints\n\n{lines}\n{getattr(module, 'READING', NOTHING_READING)}\n\nThe system: `tests/scenarios/{module.__name__}.py`.\n")


def index():
    """The list of all pages, by group: what a user sees, and the page."""
    parts = ["# Slow systems\n\nEach page has a symptom, one command with its real output, and how to read the output. Where\n"
             "all is well, the command says so."]
    scenarios = all_scenarios()
    for group, title in TITLES.items():
        rows = [f"- {module.SYMPTOM}: [{module.__doc__.strip().rstrip('.')}]({name}.md)" for name, module in scenarios.items()
                if module.GROUP == group and os.path.exists(os.path.join(DOCS, f"{name}.md"))]
        parts += [f"## {title}", "\n".join(rows)] if rows else []
    return "\n\n".join(parts) + "\n"


def write(name, text):
    with open(os.path.join(DOCS, f"{name}.md"), "w", encoding="utf-8") as file:
        file.write(text)


def main():
    """Returns the number of pages that could not be written."""
    os.makedirs(DOCS, exist_ok=True)
    failed = 0
    scenarios = all_scenarios()
    for name in sys.argv[1:] or scenarios:
        try:
            write(name, page(scenarios[name]))
            print(f"{name}: written", flush=True)
        except (AssertionError, OSError) as problem:
            failed += 1
            print(f"{name}: {problem}", flush=True)
    write("README", index())
    return failed


if __name__ == "__main__":
    sys.exit(main())
