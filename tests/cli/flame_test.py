#!/usr/bin/python3
"""`overdue flame`: valid drawings, and a message about every bad line. No kernel needed."""
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import stacks
from overdue_test import OVERDUE, main, overdue

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

    def drawn(self, *arguments, status=0):
        """Standard output, decoded; it must be valid XML."""
        finished = overdue("flame", *arguments)
        self.assertEqual(finished.status, status, finished)
        text = finished.out.encode("latin-1").decode("utf-8")
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
        for name, begin in (("o.svg", "<?xml"), ("o.html", "<!DOCTYPE html>"), ("o.folded", "t;a 3")):
            out = os.path.join(self.folder, name)
            self.assertEqual(overdue("flame", path, "-o", out).status, 0)
            with open(out, encoding="utf-8") as file:
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


class BadInput(Flame):
    def refused(self, *arguments, status, says):
        finished = overdue("flame", *arguments)
        self.assertEqual(finished.status, status, finished)
        self.assertRegex(finished.err, says)
        self.assertEqual(finished.out, "")

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
