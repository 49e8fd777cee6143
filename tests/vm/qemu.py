"""Chooses the QEMU that runs the guests: this machine's, or, if that is old, the one from Debian's
backports, unpacked under build/vm and never installed.

A CPU may keep a translation of code that another CPU has changed (emulator.py). Kernels up to 6.x
then hang, kernels 7.x crash. The fault is common before QEMU 8.1. QEMU 10.0 had it once in 2,700
times that four tracepoints were switched on and off.
"""
import dataclasses
import functools
import re
import shutil

import packages
from packages import Missing, run

PROGRAM = "qemu-system-x86_64"
GOOD = (8, 1)
PACKAGES = ["qemu-system-x86", "qemu-system-common", "qemu-system-data", "seabios"]
SUITES = ("bookworm-backports",)


def version(program):
    found = re.search(r"version (\d+)\.(\d+)", run(program, "--version").stdout)
    return (int(found[1]), int(found[2])) if found else (0, 0)


@dataclasses.dataclass(frozen=True)
class Qemu:
    """The first words of the emulator's command line, and whether the emulator is new enough."""
    words: tuple
    new: bool = True


@functools.cache
def find(cache):
    """The QEMU to use. Raises Missing if there is none at all."""
    if version(PROGRAM) >= GOOD:
        return Qemu((PROGRAM,))
    try:
        root = unpacked(cache)
        program = root / "usr/bin" / PROGRAM
        if version(program) >= GOOD:
            return Qemu((program, "-L", root / "usr/share/qemu", "-L", root / "usr/share/seabios"))
        reason = f"that of {root} is older"
    except Missing as missing:
        reason = missing
    print(f"laboratory: QEMU {'.'.join(map(str, GOOD))} or newer is not to be had ({reason}); going on with this machine's,"
          " in which guests may hang or die", flush=True)
    return Qemu((PROGRAM,), new=False)


def unpacked(cache):
    """The folder with the unpacked packages from backports."""
    folder, downloads = cache / "qemu", cache / "packages/qemu"
    with packages.alone(folder):
        if not (folder / "ready").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            packages.unpack(packages.fetch(cache, downloads, PACKAGES, SUITES), folder)
            (folder / "ready").touch()
            shutil.rmtree(downloads)
    return folder
