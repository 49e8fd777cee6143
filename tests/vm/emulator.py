"""Asks a running emulator, through its monitor, where its CPUs are, and repairs its one fault that
hangs guests.

A kernel changes its own code while CPUs run it, with an int3 in place of each instruction meanwhile
(text_poke_bp() in arch/x86/kernel/alternative.c). Every attached tracepoint causes such a change.
QEMU with a thread per CPU sometimes keeps its translation of the int3 after the int3 is gone from
memory (7.2 often, 10.0 rarely). The CPU traps, the kernel finds no reason for the trap, returns to
the same address, and so on for ever. Writing the same byte there again makes the emulator translate
the address anew.
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
KERNEL = 1 << 63  # the lowest kernel address


def connected(folder, name):
    """Connects to the emulator's socket in `folder`. Its path may be too long for an address."""
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
    """The guest's /proc/kallsyms, which the guest copies to its folder."""

    def __init__(self, folder):
        self.path = folder / "kallsyms"

    @functools.cached_property
    def found(self):
        """[(address, name)] in order; empty until the guest has made the copy."""
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
    """Repairs stale translations. Returns a list with a sentence about them, or an empty list."""
    symbols = Symbols(folder)
    try:
        with Monitor(folder) as monitor:
            stale = stale_places(monitor, symbols)
    except OSError:
        return []  # the emulator has just begun, or ended
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
    """The addresses at which a CPU loops, in two rounds of looks, with no int3 in memory."""
    found = looping_places(monitor, symbols)
    found = found and found & looping_places(monitor, symbols)
    return [at for at in sorted(found) if monitor.byte_at(at) not in (None, INT3)]


def looping_places(monitor, symbols):
    looks = [monitor.places() for _ in range(LOOKS)]
    return {place for cpu in zip(*looks) for place in looping_at(cpu, symbols)}


def looping_at(places, symbols):
    """The addresses at which a CPU is seen more than once, if it is also seen more than once on the
    way from an int3. Most looks find a looping CPU in either place; but interrupts come while it
    loops, and more functions handle an int3 than are named here. A false alarm costs a moment."""
    others = [at for at in places if not symbols.name_of(at).startswith(FROM_INT3)]
    if len(places) - len(others) < 2:
        return set()
    return {at for at in others if at >= KERNEL and others.count(at) > 1}


def write_again(folder, monitor, places):
    """Writes the same bytes again, which only gdb's protocol can do. The guest stops meanwhile."""
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
    """The next answer; skips the debugger's unasked reports that the guest has stopped."""
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
