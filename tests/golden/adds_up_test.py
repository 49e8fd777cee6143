#!/usr/bin/python3
"""Wherever a golden report shows where a duration went, the parts add up to it, whatever the command."""
import collections
import json
import pathlib
import unittest

FOLDER = pathlib.Path(__file__).parent
# What has such parts, and the duration that they add up to.
WHOLE = ("during_ns", "latency_ns", "noise_ns")


def objects(value, path=""):
    """All JSON objects within a value, with their places."""
    if isinstance(value, dict):
        yield path, value
        for key, inner in value.items():
            yield from objects(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from objects(inner, f"{path}[{number}]")


def documents():
    for path in sorted(FOLDER.rglob("*.json")) + sorted(FOLDER.rglob("*.ndjson")):
        if path.name != "schema.json":
            text, at, number = path.read_text().strip(), 0, 0
            while at < len(text):
                document, end = json.JSONDecoder().raw_decode(text, at)
                at, number = end + 1, number + 1
                yield f"{path.relative_to(FOLDER)}:{number}", document


def parts_of(shown):
    """The sum of an object's parts; None if it has none."""
    if isinstance(shown.get("breakdown"), dict):
        return sum(shown["breakdown"].values())
    if isinstance(shown.get("parts"), list):
        return sum(part["ns"] for part in shown["parts"]) + shown.get("residual_ns", 0)
    return None


class AddsUp(unittest.TestCase):
    def test_every_report(self):
        seen = collections.Counter()
        for name, document in documents():
            for place, shown in objects(document):
                parts = parts_of(shown)
                whole = next((shown[key] for key in WHOLE if key in shown), None)
                if parts is None or whole is None:
                    continue
                seen[name.partition(".")[0]] += 1
                self.assertEqual(parts, whole, f"{name}{place}")
        for report in ("stalls", "app_timers", "osnoise", "timerlat", "why"):
            self.assertTrue(any(report in name for name in seen), f"no parts in a report of {report}: {seen}")


if __name__ == "__main__":
    unittest.main()
