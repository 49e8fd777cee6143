"""The output: lines about problems, and the table of kernels and features."""
from drift import features

HEAD = """# Kernels and what Overdue needs of them

Written by `tools/kernel_drift --fetch --table`, from the types (BTF) of each kernel: not to be edited. No kernel ran.
What ran in which kernel is in [kernels.md](kernels.md).
"""


class Column:
    """A kernel: its findings by object. `excuse` says why its problems do not count, or is ""."""

    def __init__(self, name, release, what, excuse, findings):
        self.name, self.release, self.what, self.excuse, self.findings = name, release, what, excuse, findings

    @property
    def has(self):
        """{optional part: whether every object that asks for it has it}"""
        has = {}
        for findings in self.findings.values():
            for key, yes in findings.has.items():
                has[key] = bool(yes) and has.get(key, True)
        return has

    def count(self):
        return sum(len(findings.problems) for findings in self.findings.values())

    def lines(self):
        """Yields a line for each problem."""
        for name, findings in self.findings.items():
            for text, programs in findings.problems.items():
                yield f"{self.release}  {name}  {', '.join(programs)}: {text}"

    def summary(self):
        objects = sum(bool(findings.problems) for findings in self.findings.values())
        if not objects:
            return f"{self.name}: {self.release}: no problem"
        said = f"{self.name}: {self.release}: {self.count()} problems in {objects} of {len(self.findings)} objects"
        return said + (f", not counted: {self.excuse}" if self.excuse else "")


def table(head, rows):
    return ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]] + [""]


def page(columns, missing):
    about = [[f"**{column.name}**", column.release, column.what, str(column.count() or "none"), column.excuse]
             for column in columns]
    rows = features.rows([(column.name, column.has) for column in columns])
    lines = [HEAD, *table(["", "release", "", "problems", "which do not count, because"], about)]
    lines += [f"- `{name}` is not here: {why}" for name, why in missing] + [""] * bool(missing)
    lines += ["## What Overdue can do without", "", "What a kernel lacks costs that feature alone.", "",
              *table(["", *(column.name for column in columns)], [[name, *cells] for name, cells, _ in rows])]
    for name, _, lacking in rows:
        for keys, names in lacking.items():
            lines.append(f"- {name}, in part ({', '.join(names)}): without {', '.join(f'`{key}`' for key in keys)}")
    problems = [line for column in columns if not column.excuse for line in column.lines()]
    if problems:
        lines += ["", "## Problems", "", *(f"- {line}" for line in problems)]
    return "\n".join(lines).rstrip() + "\n"
