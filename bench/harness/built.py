# SPDX-License-Identifier: Apache-2.0
"""Checks that the programs of a run are built."""

import os

# The programs that the parts run, named as in bench/CMakeLists.txt.
PROGRAMS = ["floor", "getppid", "files", "pipe", "finding", "storm", "idle", "started"]


def what_is_missing(options):
    """Returns what to build first, or None. `make build` builds only Overdue."""
    if not os.access(options.overdue, os.X_OK):
        return f"{options.overdue} is not built: run `make build`, or name another one with --overdue"
    wanted = ["getppid", "pipe"] if options.against else PROGRAMS
    missing = [f"bench_{name}" for name in wanted
               if not os.access(os.path.join(options.build, "bench", f"bench_{name}"), os.X_OK)]
    if not missing:
        return None
    return (f"{options.build} lacks {', '.join(missing)}: run `tools/build release {' '.join(missing)}`, or `make "
            "bench`, which builds all of it; --build names another directory")
