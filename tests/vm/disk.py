"""The guest's disk: the files that the guest writes, and the programs that the tests measure.

The guest's other files are the host's, over 9p. Overdue opens no file that another machine serves,
and on Linux 6.1 the path of a program on an overlay is its path below the overlay. So programs and
their libraries are on the disk.
"""
import os
import pathlib
import shutil
import subprocess

import packages

SIZE = "6G"  # most of it is never written
PROGRAMS = ["python3", "redis-server", "node", "java", "bash", "sh", "sleep", "dd", "cat", "true"]
MAGIC = b"\x7fELF"


def make(image, build):
    """Makes an ext4 file system for the guest's `init` in `image`, with the programs of `build`."""
    root = image.with_suffix(".dir")
    shutil.rmtree(root, ignore_errors=True)
    image.unlink(missing_ok=True)
    try:
        (root / "work").mkdir(parents=True)
        for path in programs_and_libraries(build):
            copy = root / "files" / path.relative_to("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)
        packages.run("/usr/sbin/mkfs.ext4", "-q", "-d", root, image, SIZE)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def programs_and_libraries(build):
    """The real paths of the programs in `build`, of installed PROGRAMS, and of their libraries."""
    named = [shutil.which(name, path="/usr/bin:/bin") for name in PROGRAMS]
    programs = {pathlib.Path(path).resolve() for path in named if path}
    programs.update(path.resolve() for path in files_below(build) if is_elf(path))
    listing = subprocess.run(["ldd", *sorted(programs)], check=False, text=True, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    words = {word for line in listing.splitlines() if line.startswith("\t") for word in line.split()}
    return sorted(programs | {pathlib.Path(word).resolve() for word in words if word.startswith("/")})


def files_below(folder):
    for parent, _, names in os.walk(folder):  # does not follow symbolic links
        yield from (pathlib.Path(parent, name) for name in names)


def is_elf(path):
    if path.suffix == ".o" or path.is_symlink() or not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC
