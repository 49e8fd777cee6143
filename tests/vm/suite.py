"""Which tests run in a guest: the table in `suite`."""
import fnmatch
import importlib.machinery
import importlib.util
import pathlib

TABLE = pathlib.Path(__file__).with_name("suite")


def rows():
    """Yields (name, set, why)."""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, which, why = (line.split(maxsplit=2) + [""])[:3]
            if which not in ("short", "command", "never") or (which == "never" and not why):
                raise ValueError(f"{TABLE}: not a row: {line}")
            yield name, which, why


def names(which, cases):
    return [name for name, has, _ in rows() if has == which and ("." in name) == cases]


def selection(form, expressions):
    """(ctest options, filter of cases) of the form "short" or "command", or of the matching kernel tests."""
    never = names("never", cases=True)
    left_out = f"-{':'.join(never)}" if never else ""
    if form == "command":
        return ["-R", whole(names("command", cases=False))], "*" + left_out
    if form == "short":
        return ["-R", whole(names("short", cases=False))], ":".join(names("short", cases=True) or ["*"]) + left_out
    options = ["-L", "^kernel$"] + (["-R", "|".join(expressions)] if expressions else [])
    never = names("never", cases=False)
    return options + (["-E", whole(never)] if never else []), "*" + left_out


def left_out():
    """(name, reason) of everything that no form runs."""
    return [(name, why) for name, which, why in rows() if which == "never"]


def not_run(folder):
    """Cases of the short form without a result: misspelt in the table, or gone from the tests."""
    ran = {case for _, case, outcome, _ in load_results().all_cases(folder) if outcome != "skipped"}
    return [name for name in names("short", cases=True)
            if not fnmatch.filter(ran, name) and not fnmatch.filter(ran, name.split(".")[1])]


def load_results():
    """tools/results, as a module."""
    path = str(TABLE.parents[2] / "tools/results")
    loader = importlib.machinery.SourceFileLoader("results", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("results", loader))
    loader.exec_module(module)
    return module


def whole(tests):
    return f"^({'|'.join(tests)})$"
