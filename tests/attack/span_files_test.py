#!/usr/bin/python3
"""Files that `--span` names: a process without rights reads them, and damage harms nothing."""
import os
import random
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import OVERDUE, FolderTest, long_or_short, main, overdue, run, tool, workload

PROBES = ("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "libstdcxx:throw", "libstdcxx:catch")


def span(kind, path, begin, end):
    return f"x=begin:{kind}:{path}:{begin},end:{kind}:{path}:{end},key:tid"


class SpanFiles(FolderTest):
    def measured(self, text, *options):
        return overdue("stalls", "-a", "-T", "1h", "--span", text, "-d", "50ms", *options, timeout=60)

    def test_another_process_reads_them(self):
        """Overdue opens the file and the kernel attaches to it; a child without rights reads it."""
        library, begin, end = PROBES
        if not os.path.exists(library):
            self.skipTest(f"no {library} here")
        copy = shutil.copy(library, self.folder)  # Overdue may have the library itself loaded
        for text, path in ((span("uprobe", workload("call_paths"), "main", "main"), workload("call_paths")),
                           (span("usdt", copy, begin, end), copy)):
            with self.subTest(text=text):
                log = f"{self.folder}/log"
                finished = run([tool("strace"), "-f", "-y", "-e", "trace=read,pread64,mmap,setresuid", "-o", log,
                                OVERDUE, "stalls", "-a", "-T", "1h", "--span", text, "-d", "50ms"],
                               # LeakSanitizer fails under strace.
                               env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
                self.assertEqual(finished.status, 0, finished)
                with open(log, encoding="latin-1") as file:
                    lines = file.read().splitlines()
                main_pid = lines[0].split()[0]
                read = re.compile(rf"(read|pread64|mmap)\(.*<{re.escape(path)}>")
                readers = {line.split()[0] for line in lines if read.search(line)}
                self.assertTrue(readers, "no process read it")
                self.assertNotIn(main_pid, readers)

    def test_damaged_files_harm_nothing(self):
        """Each file is refused with a message, or measured: no crash and no hang."""
        library, begin, end = PROBES
        chosen = random.Random(11)
        path = f"{self.folder}/damaged"
        wholes = []
        for kind, source, names in (("uprobe", workload("call_paths"), ("main", "main")),
                                    ("usdt", library, (begin, end))):
            if os.path.exists(source):
                with open(source, "rb") as file:
                    wholes.append((kind, file.read(), names))
        for number in range(long_or_short(400, 24)):
            kind, whole, names = wholes[number % len(wholes)]
            damaged = bytearray(whole[:chosen.randrange(1, len(whole))] if number % 5 == 0 else whole)
            for _ in range(chosen.choice((1, 8, 200))):
                place = chosen.choice((64, 4096, len(damaged)))
                damaged[chosen.randrange(min(place, len(damaged)))] = chosen.randrange(256)
            with open(path, "wb") as file:
                file.write(damaged)
            finished = self.measured(span(kind, path, *names))
            self.assertIn(finished.status, (0, 1, 2), f"{number}: {finished}")
            if finished.status != 0:
                self.assertRegex(finished.err, r"overdue: cannot (use|attach to) ", f"{number}: {finished}")

    def test_a_file_that_is_none(self):
        for path, words in (("/dev/zero", "not a regular file"), (self.folder, "not a regular file"),
                            ("/etc/passwd", "no ELF file")):
            finished = self.measured(span("uprobe", path, "main", "main"))
            self.assertEqual(finished.status, 2, finished)
            self.assertIn(words, finished.err)


if __name__ == "__main__":
    main()
