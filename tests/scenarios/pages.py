#!/usr/bin/python3
"""Writes docs/scenarios: pages.py NAME… runs scenarios and writes a page of each, with the output."""
import importlib
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from scenario import HERE, Stage
from overdue_test import overdue

DOCS = os.path.join(HERE, "..", "..", "docs", "scenarios")


def page(module):
    with Stage() as stage:
        target = list(map(str, module.start(stage)))
        finished = overdue("why", *target, "-d", "5s")
        if finished.status != 0:
            raise AssertionError(finished)
        text = finished.out.encode("latin-1").decode().replace(stage.folder, "/srv")
    text = re.sub(r"(?m)^\w+, Linux", "host, Linux", text)
    shown = "".join(f"    {line}\n" if line else "\n" for line in text.rstrip("\n").split("\n"))
    title = module.__doc__.strip().rstrip(".")
    return (f"# {title}\n\n**Symptom**: {module.SYMPTOM}.\n\n    sudo overdue {' '.join(target)} -d 5s\n\n"
            f"prints\n\n{shown}\n{module.READING}\n\nThe system: `tests/scenarios/{module.__name__}.py`.\n")


def main():
    os.makedirs(DOCS, exist_ok=True)
    for name in sys.argv[1:]:
        with open(os.path.join(DOCS, f"{name}.md"), "w", encoding="utf-8") as file:
            file.write(page(importlib.import_module(name)))


if __name__ == "__main__":
    main()
