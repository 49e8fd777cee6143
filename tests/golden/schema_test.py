#!/usr/bin/python3
"""The golden JSON and NDJSON files are valid under the golden schema, and spoilt ones are not.

The golden files are what the sinks write, byte for byte (golden_test). Exit status 77: no
python3-jsonschema here, nothing was tested.
"""
import copy
import json
import pathlib
import sys

try:
    import jsonschema
except ImportError:
    print("SKIPPED: python3-jsonschema is not installed")
    sys.exit(77)

FOLDER = pathlib.Path(__file__).parent / "sinks"
failures = []


def documents():
    for path in sorted(FOLDER.glob("*.json")):
        if path.name != "schema.json":
            yield path.name, json.loads(path.read_text())
    for path in sorted(FOLDER.glob("*.ndjson")):
        lines = path.read_text().splitlines()
        for number, line in enumerate(lines, 1):
            if not line.startswith('{"type":"'):
                failures.append(f"{path.name}:{number}: the type does not come first")
            yield f"{path.name}:{number}", json.loads(line)
        if json.loads(lines[-1])["type"] != "receipt":
            failures.append(f"{path.name}: does not end with the receipt")


def spoilt(document):
    """Documents that differ from a good one in one way each, none of them allowed."""
    yield "an unknown member", {**document, "surprise": 1}
    if document.get("type", "report") != "call":  # its members are the probe's business
        for key in document:
            optional = ("type", "names", "wall_ns", "syscalls", "cgroup_id", "library", "caller", "refused",
                        "frames", "unresolved_frames")
            if key not in optional and not (key == "unfinished" and "wall_ns" not in document):
                yield f"no {key}", {k: v for k, v in document.items() if k != key}
    if document.get("syscalls"):
        for key in document["syscalls"][0]:
            wrong = copy.deepcopy(document)
            wrong["syscalls"][0][key] = None
            yield f"a row's {key} null", wrong
            if key not in ("process", "thread", "container", "library", "caller"):
                wrong = copy.deepcopy(document)
                del wrong["syscalls"][0][key]
                yield f"a row without {key}", wrong
    if "receipt" in document:
        wrong = copy.deepcopy(document)
        wrong["receipt"]["lost"] = -1
        yield "a negative loss", wrong


schema = json.loads((FOLDER / "schema.json").read_text())
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
good = bad = 0
for name, document in documents():
    good += 1
    for error in validator.iter_errors(document):
        failures.append(f"{name}: {error.message[:300]}")
    for what, wrong in spoilt(document):
        if what == "an unknown member" and document.get("type") == "call":
            continue
        bad += 1
        if validator.is_valid(wrong):
            failures.append(f"{name}: valid although {what}")

if good < 20 or bad < 100:
    failures.append(f"only {good} documents and {bad} spoilt ones were tried")
print(f"{good} documents valid, {bad} spoilt ones tried, {len(failures)} failures")
print("\n".join(failures[:20]))
sys.exit(1 if failures else 0)
