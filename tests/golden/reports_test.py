#!/usr/bin/python3
"""Every report of every command, from the recordings in reports/, byte for byte.

A recording NAME.odt is shown in each view and format of its command, and compared with NAME.VIEW.EXTENSION. To accept a
change, run with OVERDUE_UPDATE_GOLDEN=1 and read the diff.
"""
import json
import os
import pathlib
import subprocess
import sys
import unittest
import xml.etree.ElementTree

FOLDER = pathlib.Path(__file__).resolve().parent / "reports"
OVERDUE = os.environ["OVERDUE"]
EXTENSIONS = {"text": "txt", "json": "json", "ndjson": "ndjson", "csv": "csv", "folded": "folded", "html": "html"}
SHOWN = {
    "syscalls": [("summary", ["text", "json", "ndjson", "csv"])],
    "record": [("summary", ["text", "json", "ndjson", "csv"])],
    "stalls": [("summary", ["text", "json", "csv"]), ("stalls", ["text", "json", "ndjson", "csv"])],
    "spans": [("summary", ["text", "json", "ndjson", "csv"])],
    "why": [("summary", ["text", "json", "ndjson", "csv", "html"])],
    "offcpu": [("summary", ["text", "json", "ndjson", "csv"])],
    "offcpu stacks": [("summary", ["text", "json", "ndjson", "csv", "folded"])],
    "profile": [("summary", ["text", "json", "ndjson", "csv", "folded"])],
    "timerlat": [("summary", ["text", "json", "ndjson", "csv"]),
                 ("hist", ["text", "json"]), ("trace", ["text", "ndjson"])],
    "app timers": [("summary", ["text", "json", "ndjson", "csv"])],
    "osnoise": [("summary", ["text", "json", "ndjson", "csv"]),
                ("hist", ["text", "json"]), ("trace", ["text", "ndjson"])],
    "worst": [("summary", ["text", "json", "ndjson", "csv"])],
}

PAGE_ELEMENTS = {"html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "p", "dl", "div", "dt", "dd", "code",
                 "pre", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "button", "details", "summary", "svg",
                 "rect", "span", "footer", "script"}


def report(recording, view, form):
    finished = subprocess.run([OVERDUE, "report", recording, "--view", view, "-f", form], capture_output=True,
                              env={**os.environ, "TZ": "UTC"}, check=False)
    if finished.returncode != 0:
        raise AssertionError(f"{recording.name}, {view}, {form}: {finished.stderr.decode()}")
    return finished.stdout


def kind_of(recording):
    first = json.loads(report(recording, "summary", "json"))
    if "timers" in first:
        return "app timers"
    return "offcpu stacks" if first["command"] == "offcpu" and "stacks" in first else first["command"]


class Reports(unittest.TestCase):
    def test_each_is_as_it_was(self):
        recordings = sorted(FOLDER.glob("*.odt"))
        self.assertTrue(recordings)
        kinds = {recording: kind_of(recording) for recording in recordings}
        self.assertEqual(set(kinds.values()), set(SHOWN), "a command has no case")
        expected = set()
        for recording, kind in kinds.items():
            for view, forms in SHOWN[kind]:
                for form in forms:
                    golden = FOLDER / f"{recording.stem}.{view}.{EXTENSIONS[form]}"
                    expected.add(golden)
                    shown = report(recording, view, form)
                    if os.environ.get("OVERDUE_UPDATE_GOLDEN"):
                        golden.write_bytes(shown)
                    with self.subTest(golden=golden.name):
                        self.assertEqual(shown.decode(), golden.read_text(encoding="utf-8"))
        self.assertEqual({path for path in FOLDER.iterdir() if path.suffix != ".odt"}, expected)

    def test_each_has_a_page_that_stands_alone(self):
        for recording in sorted(FOLDER.glob("*.odt")):
            for view, _ in SHOWN[kind_of(recording)]:
                if view == "trace" or recording.stem == "profile":
                    continue  # a stream; and its page is a flame graph
                with self.subTest(recording=recording.name, view=view):
                    text = report(recording, view, "html").decode()
                    # A page is XHTML too, so that a parser finds each mistake.
                    page = xml.etree.ElementTree.fromstring(text)
                    found = {element.tag.partition("}")[2] for element in page.iter()}
                    self.assertLessEqual(found, PAGE_ELEMENTS)
                    attributes = {name for element in page.iter() for name in element.attrib}
                    self.assertFalse([name for name in attributes if name in ("style", "src", "href") or
                                      name.startswith("on")])
                    self.assertEqual(len([one for one in page.iter() if one.tag.endswith("}script")]), 1)
                    self.assertIn("default-src 'none'", text)
                    self.assertRegex(text, r"<li>[\d,]+ events?, ")

    def test_each_is_valid_by_the_schema(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("python3-jsonschema is not installed")
        schema = subprocess.run([OVERDUE, "schema"], capture_output=True, check=True).stdout
        jsonschema.Draft202012Validator.check_schema(json.loads(schema))
        validator = jsonschema.Draft202012Validator(json.loads(schema))
        seen = set()
        for path in sorted([*FOLDER.glob("*.json"), *FOLDER.glob("*.ndjson"), *FOLDER.parent.glob("doctor/*.json")]):
            text = path.read_text(encoding="utf-8")
            # A stream has a document a line, also with -f json; a report has a brace alone in its first line.
            for document in map(json.loads, [text] if text.startswith("{\n") else text.splitlines()):
                # One document for each type and set of keys: the trace of a second has thousands of lines.
                shape = (path.stem, document.get("type"), tuple(document))
                if shape in seen:
                    continue
                seen.add(shape)
                with self.subTest(document=str(document)[:200]):
                    self.assertFalse([error.message[:300] for error in validator.iter_errors(document)])
                self.assertFalse(validator.is_valid({**document, "surprise": 1}), path)
        self.assertGreater(len(seen), 30)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
