#!/usr/bin/python3
"""emulator.py, on answers of an emulator; the hang was seen in a real run."""
import itertools
import os
import pathlib
import socket
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import emulator

KALLSYMS = """ffffffff810e59b0 T try_to_wake_up
ffffffff81a59fe0 T native_safe_halt
ffffffff81a50000 T irqentry_nmi_exit
ffffffff81c00b00 T asm_exc_int3
ffffffff81c00ba0 T error_return
ffffffff82000000 D not_code
"""
WAKE, INT3, RETURN, HALT = 0xFFFFFFFF810E5A9C, 0xFFFFFFFF81C00B03, 0xFFFFFFFF81C00BA0, 0xFFFFFFFF81A59FEB


class Emulator(unittest.TestCase):
    def setUp(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "kallsyms").write_text(KALLSYMS, encoding="utf-8")
            self.symbols = emulator.Symbols(pathlib.Path(folder))
            self.assertEqual(len(self.symbols.found), 5)  # only functions

    def test_places_have_names(self):
        self.assertEqual(self.symbols.name_of(WAKE), "try_to_wake_up+0xec")
        self.assertEqual(self.symbols.name_of(0x7FDB), "0x7fdb")
        self.assertEqual(emulator.Symbols(pathlib.Path("/nowhere")).name_of(WAKE), hex(WAKE))

    def test_a_cpu_that_comes_back_to_an_int3_loops(self):
        self.assertEqual(emulator.looping_at([INT3, WAKE, WAKE, RETURN], self.symbols), {WAKE})
        self.assertEqual(emulator.looping_at([HALT, HALT], self.symbols), set())
        self.assertEqual(emulator.looping_at([INT3, RETURN], self.symbols), set())
        # 0x7FDB is a user address.
        self.assertEqual(emulator.looping_at([INT3, 0x7FDB, 0x7FDB], self.symbols), set())
        self.assertEqual(emulator.looping_at([INT3, HALT, HALT, HALT, HALT], self.symbols), set())

    def test_interrupts_meanwhile_do_not_hide_that_it_loops(self):
        self.assertEqual(emulator.looping_at([INT3, WAKE, HALT, RETURN, WAKE], self.symbols), {WAKE})

    def test_it_may_be_at_the_int3_nearly_always(self):
        self.assertEqual(emulator.looping_at([WAKE] * 19 + [INT3, WAKE, INT3, HALT, WAKE], self.symbols), {WAKE})

    def test_a_place_is_stale_if_it_is_found_twice(self):
        class Monitor:
            def __init__(self, *looks):
                self.looks = list(itertools.chain(*looks))

            def places(self):
                return [self.looks.pop(0), HALT]

            def byte_at(self, _):
                return self.byte

        looping = [WAKE] * (emulator.LOOKS - 2) + [INT3, INT3]
        probed = [HALT] * (emulator.LOOKS - 2) + [INT3, INT3]  # idle, but for uprobes' int3
        for second, byte, stale in ((looping, 0x66, [WAKE]), (looping, emulator.INT3, []), (probed, 0x66, []),
                                    ([HALT] * emulator.LOOKS, 0x66, [])):
            monitor = Monitor(looping, second)
            monitor.byte = byte
            self.assertEqual(emulator.stale_places(monitor, self.symbols), stale)

    def test_what_the_debugger_says_by_itself_is_no_answer(self):
        ours, its = socket.socketpair()
        with ours, its:
            its.sendall(b"+$T02thread:p01.01;#03$O")
            its.sendall(b"K#9a")
            self.assertEqual(emulator.next_answer(ours), b"OK")
            its.close()
            with self.assertRaises(OSError):
                emulator.next_answer(ours)

    def test_there_is_nothing_to_heal_without_an_emulator(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(emulator.healed(pathlib.Path(folder)), [])
            self.assertIn("does not answer", emulator.where_cpus_are(pathlib.Path(folder))[0])


if __name__ == "__main__":
    unittest.main()
