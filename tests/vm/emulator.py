"""What can be asked of an emulator that runs, through its monitor: where its CPUs are; and its one fault that hangs
guests, put right.

A kernel changes its own code while CPUs run it, an int3 in front of each instruction meanwhile (text_poke_bp() in
arch/x86/kernel/alternative.c): every tracepoint that is attached does. QEMU with a thread a CPU now and then keeps its
translation of the int3 when that is gone from memory (7.2 often, 10.0 rarely). The CPU traps, the kernel finds nothing
that should have, returns to the same place, and so on for ever. Writing there what is there makes the emulator
translate it anew.
"""
import bisect
import functools
import os
import re
import socket
import time

TIMEOUT_S = 10
LOOKS = 24
INT3 = 0xCC
FROM_INT3 = ("asm_exc_int3", "exc_int3", "poke_int3_handler", "kprobe_int3_handler", "irqentry_nmi", "ct_nmi", "error_")
KERNEL = 1 << 63  # addresses from here on


def connected(folder, name):
    """A socket of the emulator's in `folder`, whose path may be longer than a socket's can be."""
    here = os.open(folder, os.O_PATH)
    try:
        there = socket.socket(socket.AF_UNIX)
        there.settimeout(TIMEOUT_S)
        there.connect(f"/proc/self/fd/{here}/{name}")
        return there
    finally:
        os.close(here)


class Monitor:
    def __init__(self, folder):
        self.socket = connected(folder, "monitor")
        self._answer()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def ask(self, command):
        self.socket.sendall(command.encode() + b"\n")
        return self._answer()

    def _answer(self):
        text = ""
        while not text.endswith("(qemu) "):
            more = self.socket.recv(1 << 16)
            if not more:
                raise OSError("the emulator has hung up")
            text += more.decode(errors="replace")
        return text

    def places(self):
        """The instruction pointer of each CPU."""
        return [int(at, 16) for at in re.findall(r"RIP=([0-9a-f]+)", self.ask("info registers -a"))]

    def byte_at(self, address):
        found = re.search(r"[0-9a-f]+: 0x([0-9a-f]{2})", self.ask(f"x /1xb {address:#x}"))
        return int(found[1], 16) if found else None


class Symbols:
    """The guest's own /proc/kallsyms, which it leaves in its folder."""

    def __init__(self, folder):
        self.path = folder / "kallsyms"

    @functools.cached_property
    def found(self):
        """[(address, name)] in order; none before the guest has come so far."""
        try:
            lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []
        rows = (line.split() for line in lines)
        return sorted((int(address, 16), name) for address, kind, name, *_ in rows if kind in "tT")

    def name_of(self, address):
        at = bisect.bisect_right(self.found, (address, "~")) - 1
        if at < 0 or address < KERNEL:
            return f"{address:#x}"
        return f"{self.found[at][1]}+{address - self.found[at][0]:#x}"


def where_cpus_are(folder, looks=5):
    """A line for each look: the function in which each CPU is."""
    symbols, found = Symbols(folder), []
    try:
        with Monitor(folder) as monitor:
            for _ in range(looks):
                found.append("  " + ", ".join(symbols.name_of(at) for at in monitor.places()))
                time.sleep(0.2)
    except OSError as problem:
        found.append(f"  (the emulator does not answer: {problem})")
    return found


def healed(folder):
    """A sentence, in a list, where the emulator ran what is no more, and whether that could be put right."""
    symbols = Symbols(folder)
    try:
        with Monitor(folder) as monitor:
            stale = stale_places(monitor, symbols)
    except OSError:
        return []  # it has just begun, or ended
    if not stale:
        return []
    said = "the emulator went on running code that is no more, at " + ", ".join(map(symbols.name_of, stale))
    try:
        with Monitor(folder) as monitor:
            write_again(folder, monitor, stale)
    except OSError as problem:
        return [f"{said}; it could not be put right: {problem}"]
    return [f"{said}: put right"]


def stale_places(monitor, symbols):
    """Where a CPU is again and again that keeps coming from an int3, though there is none: now, and once more."""
    found = looping_places(monitor, symbols)
    found = found and found & looping_places(monitor, symbols)
    return [at for at in sorted(found) if monitor.byte_at(at) not in (None, INT3)]


def looping_places(monitor, symbols):
    looks = [monitor.places() for _ in range(LOOKS)]
    return {place for cpu in zip(*looks) for place in looping_at(cpu, symbols)}


def looping_at(places, symbols):
    """Where a CPU that is more than once on the way from an int3 is more than once otherwise: most looks find it at
    one of the two, interrupts come while it loops, and what handles an int3 has more functions than are named here. To
    be told once too often costs the guest a moment."""
    others = [at for at in places if not symbols.name_of(at).startswith(FROM_INT3)]
    if len(places) - len(others) < 2:
        return set()
    return {at for at in others if at >= KERNEL and others.count(at) > 1}


def write_again(folder, monitor, places):
    """What is in memory there, by the protocol of gdb, which alone writes to it. The guest stands still meanwhile."""
    monitor.ask("gdbserver unix:debugger,server=on,wait=off")
    try:
        with connected(folder, "debugger") as debugger:
            for at in places:
                is_there = answer_to(debugger, f"m{at:x},1").decode()
                expect_ok(answer_to(debugger, f"M{at:x},1:{is_there}"))
            expect_ok(answer_to(debugger, "D"))
    finally:
        monitor.ask("gdbserver none")
        monitor.ask("cont")
        (folder / "debugger").unlink(missing_ok=True)


def expect_ok(answer):
    if answer != b"OK":
        raise OSError(f"the emulator answers {answer!r}")


def answer_to(debugger, command):
    text = command.encode()
    debugger.sendall(b"$%s#%02x" % (text, sum(text) % 256))
    return next_answer(debugger)


def next_answer(debugger):
    """But for what it says by itself: that it has stopped."""
    text = b""
    while True:
        while not (found := re.search(rb"\$([^#]*)#..", text)):
            more = debugger.recv(4096)
            if not more:
                raise OSError("the emulator has hung up")
            text += more
        debugger.sendall(b"+")
        if found[1][:1] not in (b"T", b"S"):
            return found[1]
        text = text[found.end():]
