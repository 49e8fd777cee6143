#!/usr/bin/env python3
"""Fails when two files of src/ define types of the same qualified name. No compiler would complain,
and the linker would use either one's constructors and destructors for both.

    type_names_test.py [SRC]     checks SRC (default: ../src)

Relies on the layout of clang-format: namespaces and types at the beginning of a line, and the name
of a namespace behind its closing brace. Types in an anonymous namespace cannot clash.
"""

import collections
import pathlib
import re
import sys
import tempfile

OPEN = re.compile(r"^namespace\s*([\w:]*)\s*{$")
CLOSE = re.compile(r"^}  // namespace\b")
TYPE = re.compile(r"^(?:template\s*<.*>\s*)?(?:struct|class|union|enum(?: class| struct)?)\s+(\w+)\b(?!::)[^;]*{")


def types_of(text):
    """Qualified names of the types that `text` defines for the whole program."""
    inside = []
    for line in text.splitlines():
        if opened := OPEN.match(line):
            inside.append(opened.group(1))
        elif CLOSE.match(line) and inside:
            inside.pop()
        elif (found := TYPE.match(line)) and "" not in inside:
            yield "::".join([*inside, found.group(1)])


def clashes(src):
    where = collections.defaultdict(set)
    for path in sorted(src.rglob("*")):
        if path.suffix in {".h", ".cc"} and not path.name.endswith(".bpf.h"):
            for name in types_of(path.read_text(errors="replace")):
                where[name].add(path.relative_to(src).as_posix())
    return {name: sorted(files) for name, files in where.items() if len(files) > 1}


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        src = pathlib.Path(folder)
        (src / "a.h").write_text("namespace overdue {\nstruct Frame {\n};\n}  // namespace overdue\n")
        (src / "b.h").write_text("namespace overdue {\nstruct Frame;\nnamespace {\nclass Frame final : public X {\n};\n"
                                 "}  // namespace\n}  // namespace overdue\n")
        assert not clashes(src), clashes(src)
        (src / "c.cc").write_text("namespace overdue {\nnamespace {\nint x;\n}  // namespace\nclass Frame {\n};\n"
                                  "}  // namespace overdue\n")
        assert clashes(src) == {"overdue::Frame": ["a.h", "c.cc"]}, clashes(src)


def main(arguments):
    self_test()
    src = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).parent.parent / "src"
    found = clashes(src)
    for name, files in sorted(found.items()):
        print(f"{name} is defined in {', '.join(files)}: rename one, or put it into an anonymous namespace")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
