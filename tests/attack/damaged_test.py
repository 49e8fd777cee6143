#!/usr/bin/python3
"""Damaged inputs for every reader of foreign data: no crash, no hang, no effect on the rest.

Files of --span have their own test (span_files). The seed of each run is printed; OVERDUE_SEED
repeats a run, and OVERDUE_LONG=1 tries some hundred inputs of each kind.
"""
import os
import random
import shutil
import socket
import stat
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import FolderTest, attached, long_or_short, main, overdue, tool, workload
from stacks import folded

SEED = int(os.environ.get("OVERDUE_SEED") or random.randrange(1 << 32))
VIEWS = ([], ["--hist"], ["--calls", "-f", "ndjson"], ["-f", "json"], ["-f", "csv"], ["--by", "process,thread"])
NOT_NEEDED_TO_RUN = (".symtab", ".strtab", ".shstrtab", ".eh_frame", ".eh_frame_hdr", ".debug_info",
                     ".debug_line", ".debug_abbrev", ".debug_str", ".gnu_debuglink", ".note.gnu.build-id")
# A program that waits in code that it generated, with a perf map for that code.
JIT = """
import ctypes, mmap, os, sys, time
with open(sys.argv[1], "rb") as file:
    text = file.read()
code = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
                 prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("55 4889e5 b823000000 0f05 5d c3"))  # push rbp; mov rbp, rsp; nanosleep(rdi, rsi); pop; ret
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
with open(f"/tmp/perf-{os.getpid()}.map", "wb") as file:
    file.write(text.replace(b"ADDRESS", b"%x" % address))
nap = (ctypes.c_long * 2)(0, 2000000)
wait = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)(address)
for _ in range(20):
    wait(ctypes.addressof(nap), None)
time.sleep(float(sys.argv[2]))  # for a measurement that reads it
os.unlink(f"/tmp/perf-{os.getpid()}.map")
"""


def sections(elf):
    """{name: (offset, size)} of a 64-bit file's sections. The section headers have the name ''."""
    table, = struct.unpack_from("<Q", elf, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", elf, table + i * size) for i in range(count)]
    names = elf[headers[names_at][4]:headers[names_at][4] + headers[names_at][5]]
    found = {names[header[0]:names.index(b"\0", header[0])].decode(): header[4:6] for header in headers}
    return {**found, "": (table, size * count)}


class Damaged(FolderTest):
    def setUp(self):
        super().setUp()
        print(f"OVERDUE_SEED={SEED}", file=sys.stderr)
        self.dice = random.Random(SEED)

    def damage(self, whole, begin=0, size=None):
        """Cuts the data or changes some bytes; with a `size`, changes bytes of that part only."""
        damaged = bytearray(whole)
        if size is None and self.dice.random() < 0.25:
            return bytes(damaged[:self.dice.randrange(len(damaged))])
        for _ in range(self.dice.choice((1, 8, 200))):
            place = begin + self.dice.randrange(self.dice.choice((min(64, size or len(damaged)), size or len(damaged))))
            damaged[place] = self.dice.choice((0, 0xFF, 0x7F, damaged[place] ^ 1 << self.dice.randrange(8),
                                               self.dice.randrange(256)))
        return bytes(damaged)

    def write(self, name, content):
        path = f"{self.folder}/{name}"
        with open(path, "wb") as file:
            file.write(content)
        return path

    def read(self, finished):
        """Checks that the input was read, or refused with a message."""
        self.assertIn(finished.status, (0, 1, 2), finished)
        if finished.status != 0:
            self.assertRegex(finished.err, r"^overdue: \w", finished)
            self.assertNotIn("unexpected failure", finished.err, finished)

    def naps(self, *command):
        """Runs a program that takes 20 naps. Returns (naps found, all findings as text)."""
        path = f"{self.folder}/findings"
        finished = overdue("stalls", "--idle", "-f", "ndjson", "-o", path, *command)
        self.assertEqual(finished.status, 0, finished)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        return sum('"nanosleep"' in line for line in text.splitlines()), text

    def program(self):
        """A workload with damaged symbols and unwind tables, which it does not need to run."""
        with open(workload("nanosleep_loop"), "rb") as file:
            whole = file.read()
        known = {name: place for name, place in sections(whole).items()
                 if name in (*NOT_NEEDED_TO_RUN, "") and place[1] > 0}
        for name in self.dice.sample(sorted(known), self.dice.randrange(1, 4)):
            whole = self.damage(whole, *known[name])
        path = self.write("damaged", whole)
        os.chmod(path, 0o755)
        return path

    def test_recordings(self):
        self.assertEqual(overdue("stalls", "-T", "100us", "--save", self.file, "--", workload("nanosleep_loop"), "50",
                                 "1000000").status, 0)
        with open(self.file, "rb") as file:
            whole = file.read()
        for number in range(long_or_short(500, 30)):
            self.read(overdue("report", "--idle", self.write("y.odt", self.damage(whole)), *VIEWS[number % len(VIEWS)]))

    def test_folded_stacks(self):
        whole = "\n".join(folded()).encode()
        for _ in range(long_or_short(300, 15)):
            self.read(overdue("flame", self.write("y.folded", self.damage(whole)), "-o", f"{self.folder}/y.svg"))

    def test_programs_that_are_measured(self):
        for _ in range(long_or_short(300, 12)):
            path = self.program()
            naps, text = self.naps("-T", "100us", "--", path, "20", "1000000")
            self.assertEqual(naps, 20, text[-3000:])
            os.unlink(path)

    def test_programs_that_a_recording_names(self):
        path = f"{self.folder}/damaged"
        shutil.copy(workload("nanosleep_loop"), path)
        self.assertEqual(overdue("stalls", "-T", "100us", "--save", self.file, "--", path, "20", "1000000").status, 0)
        for _ in range(long_or_short(300, 8)):
            self.program()
            self.read(overdue("report", self.file, "--symbols", self.folder))

    def test_perf_maps(self):
        lines = [b"ADDRESS 40 jitted_wait", *(b"%x %x other_%d" % (0x1000 + 64 * i, 64, i) for i in range(200))]
        whole = b"\n".join(lines) + b"\n"
        command = ("-T", "1ms", "--", tool("python3"), self.write("jit.py", JIT.encode()))
        for stays in (0.5, 2, 8):  # on a slow machine, the map may be read after the program ends
            naps, text = self.naps(*command, self.write("perf.map", whole), stays)
            self.assertEqual(naps, 20, text[-3000:])
            if "jitted_wait" in text:
                break
        self.assertTrue("jitted_wait" in text, text[-3000:])
        for _ in range(long_or_short(200, 6)):
            naps, text = self.naps(*command, self.write("perf.map", self.damage(whole)), stays)
            self.assertEqual(naps, 20, text[-3000:])

    def test_requests_to_a_session(self):
        with attached("stalls", "-T", "5s", "-p", os.getpid()) as live:
            path = f"/run/overdue/{live.pid}.sock"
            self.assertTrue(stat.S_ISSOCK(os.stat(path).st_mode))
            for number in range(long_or_short(1000, 60)):
                with socket.socket(socket.AF_UNIX) as client:
                    client.settimeout(5)
                    client.connect(path)
                    request = self.damage(b"set threshold 20ms\nget\n" * self.dice.choice((1, 1, 1, 2000)))
                    try:
                        client.sendall(request)
                        if number % 2:
                            client.shutdown(socket.SHUT_WR)
                            client.recv(1 << 16)
                    except (BrokenPipeError, ConnectionResetError):
                        pass  # the session hangs up on an overlong request
            answer = overdue("ctl", "--session", live.pid, "get")
            self.assertEqual(answer.status, 0, answer)
            live.signal(2)
            self.assertEqual(live.finish().status, 0)


if __name__ == "__main__":
    main()
