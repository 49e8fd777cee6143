#!/usr/bin/python3
"""`overdue flame`: valid drawings, tables and exports, and a message about every bad line. No kernel needed."""
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import pprof
import stacks
from overdue_test import OVERDUE, main, overdue

RECORDINGS = pathlib.Path(__file__).resolve().parent.parent / "golden" / "reports"

SVG = "{http://www.w3.org/2000/svg}"


class Flame(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, text, name="a.folded"):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return path

    def output(self, *arguments):
        """Standard output of a run that succeeds, as bytes."""
        finished = subprocess.run([OVERDUE, "flame", *map(str, arguments)], capture_output=True, check=False)
        self.assertEqual(finished.returncode, 0, finished)
        return finished.stdout

    def folded(self, *arguments):
        """Stack → weight."""
        lines = self.output(*arguments, "-f", "folded").decode().splitlines()
        return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in lines}

    def refused(self, *arguments, status, says):
        finished = overdue("flame", *arguments)
        self.assertEqual(finished.status, status, finished)
        self.assertRegex(finished.err, says)
        self.assertEqual(finished.out, "")

    def drawn(self, *arguments, status=0):
        """Standard output, decoded; it must be valid XML."""
        finished = overdue("flame", *arguments)
        self.assertEqual(finished.status, status, finished)
        text = finished.utf8
        xml.etree.ElementTree.fromstring(text.replace("<!DOCTYPE html>\n", ""))
        return text


class Drawings(Flame):
    def test_svg_and_html_are_valid_xml(self):
        path = self.file("\n".join(stacks.folded()))
        for format_ in ("svg", "html"):
            for more in ([], ["--icicle"], ["--min-width", "0"], ["--diff", path], ["--unit", "bytes"]):
                with self.subTest(format=format_, more=more):
                    self.drawn(path, "-f", format_, "--title", "</title>\x01&\"'", *more)

    def test_any_bytes_become_valid_xml(self):
        dice = random.Random(5)
        for _ in range(20):
            lines = [bytes(dice.choices(range(256), k=dice.randrange(1, 60))).replace(b"\n", b";") + b" 5"
                     for _ in range(20)]
            self.drawn(self.file(b"\n".join(lines)), "-q")

    def test_every_character_of_unicode(self):
        names = (chr(code) for code in range(1, 0x110000, 1) if code < 0x3000 or code & 0xff > 0xf8)
        text = "".join(name for name in names if name not in "\n; " and not "\ud800" <= name <= "\udfff")
        lines = [f"t;{text[at:at + 40]} 1" for at in range(0, len(text), 40)]
        drawn = self.drawn(self.file("\n".join(lines)), "--min-width", "0", "-q")
        for unseen in "\u200f\u200b\u202e\ufeff\uffff\x7f\x85":
            self.assertNotIn(unseen, drawn)

    def test_widths_are_shares(self):
        root = xml.etree.ElementTree.fromstring(self.drawn(self.file("t;a 3\nt;b 1\n")))
        width = {}
        for group in root.findall(f"{SVG}g[@class='frames']/{SVG}g"):
            name = group.find(f"{SVG}title").text.partition("\n")[0]
            width[name] = float(group.find(f"{SVG}rect").get("width")) + 1
        self.assertEqual(width["t"], width["all"])
        self.assertAlmostEqual(width["a"], 3 * width["b"], delta=0.1)

    def test_output_decides_on_the_format(self):
        path = self.file("t;a 3\n")
        for name, begin in (("o.svg", b"<?xml"), ("o.html", b"<!DOCTYPE html>"), ("o.folded", b"t;a 3"),
                            ("o.speedscope.json", b'{"$schema"'), ("o.pb.gz", b"\x1f\x8b")):
            out = os.path.join(self.folder, name)
            self.assertEqual(overdue("flame", path, "-o", out).status, 0)
            with open(out, "rb") as file:
                self.assertTrue(file.read().startswith(begin), name)
            self.assertEqual(os.stat(out).st_mode & 0o777, 0o600)

    def test_a_large_one(self):
        lines = [f"t{i % 7};" + ";".join(f"f{(i * 7919 + d) % 50}" for d in range(12)) + f";leaf{i} 2"
                 for i in range(10_000)]
        path = self.file("\n".join(lines))
        self.assertLess(len(self.drawn(path)), 4_000_000)
        self.assertRegex(self.drawn(path, "--min-width", "1"), r"frames narrower than 1 px, with [\d.]+% of")
        whole = self.drawn(path, "--min-width", "0")
        self.assertGreater(whole.count("data-d="), 10_000)
        self.assertNotIn("narrower than", whole)


class Folded(Flame):
    def test_comes_back_as_it_was(self):
        once = overdue("flame", self.file("\n".join(stacks.folded())), "-f", "folded").out
        again = overdue("flame", self.file(once.encode("latin-1")), "-f", "folded").out
        self.assertEqual(again, once)
        self.assertEqual(sum(int(line.rpartition(" ")[2]) for line in once.splitlines()),
                         sum(int(line.rpartition(" ")[2]) for line in stacks.folded()))

    def test_files_and_standard_input_are_merged(self):
        with subprocess.Popen([OVERDUE, "flame", self.file("t;a 1\n"), "-", "-f", "folded"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            out, _ = process.communicate(b"t;a 2\nt;b 5", timeout=30)
        self.assertEqual(out, b"t;a 3\nt;b 5\n")

    def test_lines_that_are_no_stacks_are_named_and_counted(self):
        path = self.file("t;a 3\nno weight here\n" + "x y z\n" * 20)
        finished = overdue("flame", path)
        self.assertEqual(finished.status, 0, finished)
        self.assertIn("a.folded:2: what follows the last space is no weight", finished.err)
        self.assertIn("13 more such lines", finished.err)
        self.assertIn("1 stack read from a.folded; 21 lines were no stacks, left out", finished.out)
        self.assertEqual(overdue("flame", "-q", path).err, "")


class Selection(Flame):
    LINES = "dw-22;main;logback.write 4\ndw-23;main;run 3\nC2 CompilerThre;compile 2\nmain;idle_[k] 1\n"

    def test_by_frame(self):
        path = self.file(self.LINES)
        self.assertEqual(self.folded(path, "--grep", "^log|idle$"), {"dw-22;main;logback.write": 4, "main;idle_[k]": 1})
        self.assertEqual(self.folded(path, "--grep", "main", "--invert"), {"C2 CompilerThre;compile": 2})

    def test_by_thread(self):
        path = self.file(self.LINES)
        self.assertEqual(self.folded(path, "--thread", "Compiler"), {"C2 CompilerThre;compile": 2})
        self.assertEqual(self.folded(path, "--thread", "^main$"), {"main;idle_[k]": 1})

    def test_threads_joined(self):
        path = self.file(self.LINES)
        self.assertEqual(self.folded(path, "--group-digits", "--thread", "dw"),
                         {"dw-*;main;logback.write": 4, "dw-*;main;run": 3})
        merged = self.folded(path, "--merge")
        self.assertEqual(merged, {"main_[u];logback.write": 4, "main_[u];run": 3, "compile_[u]": 2, "idle_[k]": 1})
        again = self.file("".join(f"{stack} {weight}\n" for stack, weight in merged.items()), "merged")
        self.assertEqual(self.folded(again, "--merge"), merged)
        self.assertEqual(self.folded(path, "--by-thread"), self.folded(path))

    def test_the_foot_counts_what_is_left_out(self):
        text = self.drawn(self.file(self.LINES), "--grep", "run", "--thread", "^dw")
        self.assertIn("3 stacks, with 70.0% of the weight, left out; kept: stacks with a frame like &#39;run&#39;, "
                      "of threads like &#39;^dw&#39;", text)
        self.assertNotIn("left out", self.drawn(self.file(self.LINES), "--grep", "."))

    def test_standard_error_does_where_there_is_no_foot(self):
        path = self.file(self.LINES)
        for form in ("folded", "speedscope"):
            finished = overdue("flame", path, "--grep", "run", "-f", form)
            self.assertEqual(finished.err, "overdue: 3 stacks, with 70.0% of the weight, left out; kept: stacks "
                                           "with a frame like 'run'\n")
            self.assertEqual(overdue("flame", path, "--grep", "run", "-f", form, "-q").err, "")

    def test_earlier_stacks_are_selected_too(self):
        path = self.file(self.LINES)
        text = self.output(path, "--diff", path, "--grep", "run", "-f", "text").decode()
        self.assertIn("3 samples; before: 3 samples", text)
        self.assertEqual(text.count("with 70.0% of the weight, left out"), 2)

    def test_nothing_matches(self):
        path = self.file(self.LINES)
        self.refused(path, "--grep", "nosuch", status=1,
                     says="no stacks match in a.folded: of 4, none with a frame like 'nosuch'")
        other = self.file("t;a 1\n", "other")
        self.refused(other, "--diff", path, "--grep", "^a$", status=1, says="no stacks match in a.folded")

    def test_bad_expressions(self):
        path = self.file(self.LINES)
        self.refused(path, "--grep", "(", status=2, says=r"bad expression '\(' for --grep: Unmatched \(")
        self.refused(path, "--thread", "a{2,1}", status=2, says="for --thread: Invalid content")
        self.refused(path, "--grep", r"(a)\1", status=2, says="back references")
        self.refused(path, "--invert", status=2, says="--invert requires --grep")
        self.refused(path, "--merge", "--by-thread", status=2, says="excludes")
        self.refused(path, "--merge", "--group-digits", status=2, says="excludes")

    def test_hostile_names_take_no_exponential_time(self):
        path = self.file("t;" + "a" * 4095 + ";" + "ab" * 2000 + " 1\n")
        finished = subprocess.run([OVERDUE, "flame", path, "--grep", "(a*)*(a|aa)+(a|b)*c$"], capture_output=True,
                                  timeout=60, check=False)
        self.assertEqual(finished.returncode, 1, finished)


class Comparison(Flame):
    def both(self):
        return (self.file("t;main;a 50\nt;main;b 50\n", "before"),
                self.file("t;main;a 20\nt;main;b 10\nt;c 70\n", "after"))

    def test_table(self):
        before, after = self.both()
        text = self.output(after, "--diff", before, "-f", "text").decode()
        rows = re.findall(r"^ +([\d.]+)% +([\d.]+)% +([-+][\d.]+) +([-+][\d.]+)  (.+)$", text, re.MULTILINE)
        self.assertEqual(rows, [("0.00", "70.0", "+70.00", "+70.00", "c"), ("100.0", "30.0", "-70.00", "+0.00", "main"),
                                ("50.0", "10.0", "-40.00", "-40.00", "b"), ("50.0", "20.0", "-30.00", "-30.00", "a")])
        self.assertIn("1 function with smaller changes not shown",
                      self.output(after, "--diff", before, "-f", "text", "--top", "3").decode())

    def test_json_is_valid_by_the_schema(self):
        before, after = self.both()
        report = json.loads(self.output(after, "--diff", before, "-f", "json", "--top", "1"))
        self.assertEqual(report["functions_omitted"], 3)
        self.assertEqual(report["functions"], [{"name": "c", "kind": "user", "before_weight": 0, "weight": 70,
                                                "change": 0.7, "before_self_weight": 0, "self_weight": 70,
                                                "self_change": 0.7}])
        try:
            import jsonschema
        except ImportError:
            self.skipTest("python3-jsonschema is not installed")
        schema = json.loads(subprocess.run([OVERDUE, "schema"], capture_output=True, check=True).stdout)
        jsonschema.Draft202012Validator(schema).validate(report)
        del report["functions"][0]["change"]
        with self.assertRaises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(schema).validate(report)

    def test_formats_that_cannot_compare(self):
        before, after = self.both()
        for form in ("folded", "speedscope", "pprof"):
            self.refused(after, "--diff", before, "-f", form, status=2, says=f"-f {form} cannot show a comparison")
        for form in ("text", "json"):
            self.refused(after, "-f", form, status=2, says=f"-f {form} shows a comparison only\nhint: --diff FILE")


class Recordings(Flame):
    RECORDING = RECORDINGS / "stalls.odt"

    def test_draws_as_report_does(self):
        drawn = os.path.join(self.folder, "report.folded")
        finished = overdue("report", self.RECORDING, "--flame", drawn)
        self.assertEqual(finished.status, 0, finished)
        with open(drawn, encoding="utf-8") as file:
            expected = file.read()
        self.assertTrue(expected)
        self.assertEqual(self.output(self.RECORDING, "-f", "folded").decode(), expected)

    def test_from_a_pipe(self):
        with open(self.RECORDING, "rb") as file, \
                subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE) as cat:
            out = subprocess.run([OVERDUE, "flame", "-", "-f", "folded"], stdin=cat.stdout, capture_output=True,
                                 check=True).stdout
        self.assertEqual(out, self.output(self.RECORDING, "-f", "folded"))

    def test_the_foot_has_the_receipt(self):
        text = self.drawn(self.RECORDING)
        self.assertRegex(text, r"flame: \d+ findings of stalls\.odt<")
        self.assertIn("<title>Where the time of stalls went</title>", text)
        self.assertRegex(text, r">187 events, ")

    def test_a_part_of_the_time(self):
        whole = self.folded(self.RECORDING)
        lines = overdue("report", self.RECORDING, "--view", "stalls", "-f", "ndjson", "--first", "0").out.splitlines()
        *found, report, _ = map(json.loads, lines)
        findings = [line for line in found if line["type"] in ("stall", "hang")]
        ends = sorted(finding["time_ns"] - report["start_ns"] for finding in findings)
        self.assertGreater(len(ends), 1)
        middle = (ends[0] + ends[-1]) // 2
        parts = [self.folded(self.RECORDING, option, f"{time}ns")
                 for option, time in (("--to", middle), ("--from", middle + 1))]
        self.assertLess(len(parts[0]), len(whole))
        # Nested findings are drawn once in the whole, and may be in both parts; sums are of rounded weights.
        self.assertGreaterEqual(sum(map(lambda part: sum(part.values()), parts)) + len(ends), sum(whole.values()))
        self.assertRegex(self.drawn(self.RECORDING, "--to", f"{middle}ns"),
                         r"findings? of stalls.odt to [\d.]+m?s; \d+ findings? outside")
        self.refused(self.RECORDING, "--from", "100h", status=1,
                     says=f"no findings in stalls.odt from .*: {len(ends)} findings outside")

    def test_is_selected_like_others(self):
        whole = self.folded(self.RECORDING)
        name = next(iter(whole)).split(";")[0]
        part = self.folded(self.RECORDING, "--thread", f"^{re.escape(name)}$")
        self.assertEqual(part, {stack: weight for stack, weight in whole.items() if stack.split(";")[0] == name})

    def test_ranges_and_units_that_cannot_be(self):
        folded = self.file("t;a 3\n")
        self.refused(folded, "--from", "1s", status=2,
                     says="--from and --to are for recordings, and a.folded has folded stacks")
        self.refused(self.RECORDING, "--from", "2s", "--to", "1s", status=2, says="later than")
        self.refused(self.RECORDING, "--from", "2", status=2, says="--from")
        self.refused(self.RECORDING, "--unit", "samples", status=2, says="stalls.odt, a recording, are microseconds")
        self.refused(self.RECORDING, folded, status=2, says="a.folded does not name its unit\nhint: --unit us")
        self.assertIn("t;a", self.folded(self.RECORDING, folded, "--unit", "us"))

    def test_recordings_without_stalls(self):
        for name in ("syscalls", "osnoise", "worst_wakeup"):
            self.refused(RECORDINGS / f"{name}.odt", status=2,
                         says=f"{name}.odt, a recording of `overdue .*`, has no stalls")

    def test_damaged_ones(self):
        whole = self.RECORDING.read_bytes()
        dice = random.Random(7)
        for _ in range(30):
            damaged = bytearray(whole)
            for _ in range(dice.randrange(1, 20)):
                damaged[dice.randrange(8, len(damaged))] = dice.randrange(256)
            finished = overdue("flame", self.file(bytes(damaged[:dice.randrange(8, len(damaged))]), "damaged"))
            self.assertIn(finished.status, (0, 1, 2), finished)


class Exports(Flame):
    def speedscope(self, *arguments):
        """The file, checked by the rules of https://www.speedscope.app/file-format-schema.json."""
        document = json.loads(self.output(*arguments, "-f", "speedscope"))
        self.assertEqual(document["$schema"], "https://www.speedscope.app/file-format-schema.json")
        self.assertLessEqual(set(document), {"$schema", "shared", "profiles", "name", "activeProfileIndex", "exporter"})
        frames = document["shared"]["frames"]
        for frame in frames:
            self.assertLessEqual(set(frame), {"name", "file", "line", "col"})
            self.assertIsInstance(frame["name"], str)
        self.assertIn(document["activeProfileIndex"], range(len(document["profiles"])))
        for profile in document["profiles"]:
            self.assertEqual(set(profile), {"type", "name", "unit", "startValue", "endValue", "samples", "weights"})
            self.assertEqual(profile["type"], "sampled")
            self.assertIn(profile["unit"], ("bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds"))
            self.assertEqual(len(profile["samples"]), len(profile["weights"]))
            self.assertEqual(profile["endValue"] - profile["startValue"], sum(profile["weights"]))
            for sample in profile["samples"]:
                self.assertTrue(sample)
                self.assertTrue(all(index in range(len(frames)) for index in sample))
        return document

    @staticmethod
    def by_thread(lines):
        """(thread, frames, weight) of folded lines without marks."""
        for line in lines:
            names, _, weight = line.rpartition(" ")
            thread, *rest = names.split(";")
            yield thread, tuple(re.sub(r"_\[[kso]\]$", "", name) for name in rest), int(weight)

    def sums(self):
        """(thread, frames) → weight of the sample stacks, and the file."""
        lines = [line for line in stacks.folded() if not line.startswith("hostile")]
        sums = {}
        for thread, frames, weight in self.by_thread(lines):
            sums[thread, frames] = sums.get((thread, frames), 0) + weight
        return sums, self.file("\n".join(lines))

    def test_speedscope_has_every_stack(self):
        sums, path = self.sums()
        document = self.speedscope(path, "--unit", "us", "--title", "A \"title\"")
        self.assertEqual(document["name"], 'A "title"')
        found = {}
        for profile in document["profiles"]:
            self.assertEqual(profile["unit"], "microseconds")
            for sample, weight in zip(profile["samples"], profile["weights"]):
                key = profile["name"], tuple(document["shared"]["frames"][index]["name"] for index in sample)
                found[key] = found.get(key, 0) + weight
        self.assertEqual(found, sums)

    def test_pprof_has_every_stack(self):
        sums, path = self.sums()
        profile = pprof.Profile(self.output(path, "--unit", "us", "-f", "pprof", "--title", "A title"))
        self.assertEqual(profile.types, [("time", "microseconds")])
        self.assertEqual(profile.comments[0], "A title")
        self.assertRegex(profile.comments[1], r"stacks read from a\.folded")
        found = {}
        for stack, value, labels in profile.samples:
            key = labels["thread"], tuple(reversed(stack))
            found[key] = found.get(key, 0) + value
        self.assertEqual(found, sums)
        self.assertEqual(profile.mapping_of["vfs_read"], {"[kernel]"})
        self.assertEqual(profile.mapping_of["start_thread"], {""})

    def test_units(self):
        path = self.file("t;a 3\n")
        for unit, scope, pair in (("samples", "none", ("samples", "count")), ("bytes", "bytes", ("space", "bytes"))):
            self.assertEqual(self.speedscope(path, "--unit", unit)["profiles"][0]["unit"], scope)
            self.assertEqual(pprof.Profile(self.output(path, "--unit", unit, "-f", "pprof")).types, [pair])

    def test_threads_joined(self):
        path = self.file("t;a 3\nu;a 4\n")
        profiles = self.speedscope(path, "--merge")["profiles"]
        self.assertEqual([(profile["name"], profile["weights"]) for profile in profiles], [("all threads", [7])])
        self.assertEqual(pprof.Profile(self.output(path, "--merge", "-f", "pprof")).samples, [(["a"], 7, {})])

    def test_any_bytes_become_valid_files(self):
        dice = random.Random(6)
        for _ in range(20):
            lines = [bytes(dice.choices(range(256), k=dice.randrange(1, 60))).replace(b"\n", b";") + b" 5"
                     for _ in range(20)]
            path = self.file(b"\n".join(lines))
            self.speedscope(path, "-q")
            pprof.Profile(self.output(path, "-q", "-f", "pprof"))

    def test_recordings(self):
        recording = RECORDINGS / "stalls.odt"
        total = sum(self.folded(recording).values())
        self.assertEqual(sum(profile["endValue"] for profile in self.speedscope(recording)["profiles"]), total)
        profile = pprof.Profile(self.output(recording, "-f", "pprof"))
        self.assertEqual(sum(value for _, value, _ in profile.samples), total)

    def test_weights_beyond_the_format(self):
        path = self.file(f"t;a {2**63}\n")
        self.refused(path, "-f", "pprof", status=1, says="pprof holds less than 2\\^63")


class BadInput(Flame):
    def test_command_line(self):
        path = self.file("t;a 3\n")
        self.refused(status=2, says="file is required")
        self.refused(path, "-f", "png", status=2, says="png")
        self.refused(path, "--unit", "parsecs", status=2, says="parsecs")
        for width in ("-1", "nan", "inf", "x", ""):
            self.refused(path, f"--min-width={width}", status=2, says="min-width")

    def test_files(self):
        self.refused("/no/such/file", status=1, says="cannot open the stacks /no/such/file: No such file")
        self.refused(self.folder, status=1, says="cannot read the stacks .*: Is a directory")
        for text in ("", "\n\n", "hello\n", "t;a 0\n", b"\x7fELF\x02\x01\x01\0\0\0"):
            with self.subTest(text=text):
                self.refused(self.file(text), status=1, says="no stacks in a.folded")
        self.refused(self.file("t;a 1"), "--diff", self.file("", "b"), status=1, says="no stacks in b")

    def test_output_that_cannot_be_written(self):
        path = self.file("t;a 3\n")
        self.refused(path, "-o", "/no/such/folder/o.svg", status=1, says="/no/such/folder")
        self.refused(path, "-o", "/dev/full", status=1, says="No space left")

    def test_nothing_is_overwritten_when_there_is_nothing_to_draw(self):
        kept = self.file("kept", "kept.svg")
        self.refused(self.file(""), "-o", kept, status=1, says="no stacks")
        with open(kept, encoding="utf-8") as file:
            self.assertEqual(file.read(), "kept")

    def test_a_terminal_is_spared(self):
        import pty
        master, slave = pty.openpty()
        try:
            with subprocess.Popen([OVERDUE, "flame", self.file("t;a 3\n")], stdin=subprocess.DEVNULL,
                                  stdout=slave, stderr=subprocess.PIPE) as process:
                _, err = process.communicate(timeout=30)
            self.assertEqual(process.returncode, 2)
            self.assertRegex(err.decode(), "terminal.*\nhint: -o FILE")
        finally:
            os.close(master)
            os.close(slave)


if __name__ == "__main__":
    main()
