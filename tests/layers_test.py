#!/usr/bin/env python3
"""Fails when a file of src/ includes a folder or a library that its layer may not use.

    layers_test.py [SRC]     checks SRC (default: ../src); prints each violation
    layers_test.py --self    checks the check, on trees made for it

The layers are those of ARCHITECTURE.md. Tests (`_test.cc`) and their fixtures (`_fixture.h`) may
use every layer below cli/.
"""

import pathlib
import re
import sys
import tempfile

BELOW_CLI = {"base", "bpf", "core", "syscalls", "trace", "kernel", "target", "symbols", "unwind", "resolve", "sinks", "flame",
             "analysis", "probes", "source", "report", "top", "live"}
MAY_INCLUDE = {
    "base": set(),
    "bpf": set(),
    "core": {"base", "bpf"},
    "syscalls": {"base", "core", "bpf"},
    "trace": {"base", "core", "bpf"},
    "kernel": {"base", "core", "bpf"},
    "target": {"base", "core", "kernel", "bpf"},
    "symbols": {"base"},
    "unwind": {"base", "symbols", "bpf"},
    "resolve": {"base", "bpf", "core", "symbols", "unwind"},
    "sinks": {"base", "core"},
    "flame": {"base"},
    "analysis": {"base", "core", "bpf"},
    "probes": {"base", "core", "kernel", "bpf", "symbols", "syscalls"},
    "source": {"base", "core", "bpf", "syscalls", "trace", "kernel", "target", "sinks", "analysis"},
    "report": {"base", "core", "bpf", "syscalls", "trace", "kernel", "target", "sinks", "flame", "analysis", "resolve",
               "probes", "source"},
    "top": {"base", "core", "bpf", "target", "sinks", "flame", "source", "report"},
    "live": {"base", "core", "bpf", "syscalls", "kernel", "target", "symbols", "resolve", "sinks", "analysis", "probes",
             "source", "report"},
    "cli": BELOW_CLI - {"symbols", "unwind", "analysis"},
}
# A library's headers, and the folders that may see them.
LIBRARIES = {
    re.compile(r"bpf/"): {"bpf", "kernel", "target", "probes"},
    re.compile(r"CLI/"): {"cli"},
    re.compile(r"nlohmann/"): {"sinks", "target", "source", "cli"},
    re.compile(r"(zstd|xxhash)"): {"trace"},
    re.compile(r"(lzma|libiberty/|elfutils/|(g|lib)elf\.h|dwarf\.h)"): {"symbols"},
    re.compile(r"elf\.h"): {"symbols", "kernel"},  # the format alone; kernel reads this build's own BPF objects
    re.compile(r"seccomp\.h"): {"resolve"},
    re.compile(r"zlib\.h"): {"flame"},
    re.compile(r"(n?curses|term)\.h"): {"top"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', re.M)


def violations_of(path, parts):
    """The violations in the file `path`, at `parts` below src/."""
    layer = parts[0]
    is_test = path.name.endswith(("_test.cc", "_fixture.h"))
    allowed = BELOW_CLI if is_test else MAY_INCLUDE[layer]
    for ours, library in INCLUDE.findall(path.read_text(errors="replace")):
        if library:
            for header, layers in LIBRARIES.items():
                if header.match(library) and layer not in layers and not is_test:
                    yield f"{layer}/ may not include <{library}>"
            continue
        target = pathlib.PurePosixPath(ours).parts
        if ours.endswith(".skel.h"):
            if layer not in {"kernel", "probes"}:
                yield f'{layer}/ may not include the BPF skeleton "{ours}"'
        elif len(target) == 1:
            yield f'"{ours}" must be named from src/'
        elif target[0] not in MAY_INCLUDE:
            yield f'"{ours}" is in no layer'
        elif layer == target[0] == "probes" and len(parts) > 2:
            if parts[1] != target[1] and not is_test:
                yield f'a probe may not include another: "{ours}"'
        elif target[0] != layer and target[0] not in allowed:
            yield f'{layer}/ may not include "{ours}"'


def violations(src):
    for path in sorted(src.rglob("*")):
        if path.suffix not in {".h", ".cc", ".c"}:
            continue
        parts = path.relative_to(src).parts
        if parts[0] not in MAY_INCLUDE:
            yield f"{path}: {parts[0]} is no layer: give it one in tests/layers_test.py and ARCHITECTURE.md"
            continue
        for violation in violations_of(path, parts):
            yield f"{path}: {violation}"


# file → (its text, whether it is a violation)
SELF_TEST = {
    "core/good.h": ('#include "base/time.h"\n#include "bpf/wire.h"\n#include <vector>\n', False),
    "core/up.h": ('#include "kernel/session.h"\n', True),
    "base/up.cc": ('  #  include "core/schema.h"\n', True),
    "sinks/wire.cc": ('#include "bpf/wire.h"\n', True),
    "sinks/json.cc": ("#include <nlohmann/json.hpp>\n", False),
    "core/json.cc": ("#include <nlohmann/json.hpp>\n", True),
    "core/bpf.cc": ("#include <bpf/libbpf.h>\n", True),
    "bpf/helpers.bpf.h": ("#include <bpf/bpf_helpers.h>\n", False),
    "kernel/bpf.cc": ("#include <bpf/libbpf.h>\n", False),
    "probes/a/skeleton.cc": ('#include "a.skel.h"\n', False),
    "sinks/skeleton.cc": ('#include "a.skel.h"\n', True),
    "sinks/file.cc": ("#include <zstd.h>\n", True),
    "symbols/good.cc": ('#include "base/text.h"\n#include <lzma.h>\n#include <elf.h>\n', False),
    "unwind/good.h": ('#include "symbols/elf_image.h"\n#include "bpf/span.h"\n', False),
    "unwind/up.cc": ('#include "kernel/session.h"\n', True),
    "symbols/unwind.cc": ('#include "unwind/unwinder.h"\n', True),
    "resolve/good.cc": ('#include "unwind/unwinder.h"\n#include "bpf/span.h"\n#include <seccomp.h>\n', False),
    "resolve/up.cc": ('#include "kernel/session.h"\n', True),
    "unwind/sandbox.cc": ("#include <seccomp.h>\n", True),
    "symbols/up.cc": ('#include "core/schema.h"\n', True),
    "unwind/dwarf.cc": ("#include <elfutils/libdw.h>\n", True),
    "core/elf.cc": ("#include <elf.h>\n", True),
    "kernel/options.cc": ("#include <CLI/CLI.hpp>\n", True),
    "cli/main.cc": ('#include <CLI/CLI.hpp>\n#include "probes/a/a.h"\n', False),
    "probes/a/a.cc": ('#include "probes/a/a.h"\n#include "kernel/session.h"\n', False),
    "probes/a/other.cc": ('#include "probes/b/b.h"\n', True),
    "probes/a/target.cc": ('#include "target/cgroups.h"\n', True),
    "probes/a/a_test.cc": ('#include "target/cgroups.h"\n', False),
    "probes/a/b_test.cc": ('#include "cli/help.h"\n', True),
    "probes/registry.cc": ('#include "probes/a/a.h"\n', False),
    "flame/folded.cc": ('#include "base/text.h"\n', False),
    "flame/sink.cc": ('#include "sinks/output.h"\n', True),
    "flame/gzip.cc": ("#include <zlib.h>\n", False),
    "report/gzip.cc": ("#include <zlib.h>\n", True),
    "top/screen.cc": ("#include <curses.h>\n", False),
    "top/live.cc": ('#include "live/stall_probe_set.h"\n', True),
    "cli/screen.cc": ("#include <curses.h>\n", True),
    "core/near.cc": ('#include "near.h"\n', True),
    "tui/screen.cc": ("", True),
}


def self_test():
    """Each file of SELF_TEST alone in a tree: reported exactly where it should be."""
    failed = 0
    for name, (text, is_violation) in SELF_TEST.items():
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True)
            path.write_text(text)
            found = list(violations(pathlib.Path(folder)))
            if bool(found) != is_violation:
                print(f"self-test: {name}: {'not found' if is_violation else found}")
                failed += 1
    return failed


def main(arguments):
    if arguments == ["--self"]:
        failed = self_test()
        print(f"{len(SELF_TEST) - failed} passed, {failed} failed")
        return failed != 0
    src = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).parent.parent / "src"
    found = list(violations(src))
    print(*found, sep="\n", end="\n" if found else "")
    return bool(found) or self_test() != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
