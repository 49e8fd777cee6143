# SPDX-License-Identifier: Apache-2.0
"""What must be built before anything can be measured."""

import os

# What parts run, by the names of their targets in bench/CMakeLists.txt.
PROGRAMS = ["floor", "getppid", "files", "pipe", "finding", "storm", "idle", "started"]


def what_is_missing(options):
    """What to do first, or nothing: `make build` builds Overdue alone."""
    if not os.access(options.overdue, os.X_OK):
        return f"{options.overdue} is not built: run `make build`, or name another one with --overdue"
    wanted = ["getppid", "pipe"] if options.against else PROGRAMS
    missing = [f"bench_{name}" for name in wanted
               if not os.access(os.path.join(options.build, "bench", f"bench_{name}"), os.X_OK)]
    if not missing:
        return None
    return (f"{options.build} lacks {', '.join(missing)}: run `tools/build release {' '.join(missing)}`, or `make "
            "bench`, which builds all of it; --build names another directory")
