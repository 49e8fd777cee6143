"""Which QEMU runs the guests: this machine's, or, where that is old, the newer one of Debian's backports, unpacked under
build/vm and never installed.

Before 8.1 a CPU may keep a translation of code that another CPU changes while it is translated (emulator.py): kernels
up to 6.x hang then, those of 7.x die.
"""
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


@functools.cache
def command(cache):
    """The words with which QEMU is started. Raises Missing where there is none at all."""
    if version(PROGRAM) >= GOOD:
        return [PROGRAM]
    try:
        root = unpacked(cache)
        program = root / "usr/bin" / PROGRAM
        if version(program) >= GOOD:
            firmware = [root / "usr/share/qemu", root / "usr/share/seabios"]
            return [program, *(word for folder in firmware for word in ("-L", folder))]
        reason = f"{program} is none either"
    except Missing as missing:
        reason = missing
    print(f"laboratory: QEMU {'.'.join(map(str, GOOD))} or newer is not to be had ({reason}); going on with this machine's,"
          " in which guests may hang or die", flush=True)
    return [PROGRAM]


def unpacked(cache):
    """The folder that packages of backports are unpacked in."""
    folder, downloads = cache / "qemu", cache / "packages/qemu"
    with packages.alone(folder):
        if not (folder / "ready").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            packages.unpack(packages.fetch(cache, downloads, PACKAGES, SUITES), folder)
            (folder / "ready").touch()
            shutil.rmtree(downloads)
    return folder
