"""Attach points: whether a kernel has them, and passes the arguments that a program reads."""
from drift import btf
from drift.btf import essential

# Without these tracepoints nothing can be measured, although their programs are off by default.
ESSENTIAL = ("sched_switch", "sys_enter", "sys_exit")


def has_arguments(hook):
    """Whether the program's context is the array of the hook's arguments."""
    return hook.split("/")[0] in ("tp_btf", "raw_tp", "fentry", "fexit")


class Hook:
    """`parameters` are kernel types; None if the context is not an array of arguments."""

    def __init__(self, name, exists, parameters=None):
        self.name, self.exists, self.parameters = name, exists, parameters

    def problems(self, types, ours, facts):
        """Yields a sentence for each argument of another type than the program expects."""
        if self.parameters is None:
            return
        beyond = [number for number in facts.arguments if number >= len(self.parameters)]
        if beyond:
            yield f"{self.name} has {len(self.parameters)} arguments there, and argument {max(beyond) + 1} is read here"
        for number, type_id in enumerate(self.parameters):
            read_as = sorted({ours.name(ours.bare(root)) for argument, root in facts.pointers if argument == number})
            if read_as and not may_be_read_as(types, type_id, read_as):
                yield (f"argument {number + 1} of {self.name} is {types.describe(type_id)} there, "
                       f"{' or '.join(f'struct {essential(name)}*' for name in read_as)} here")
            if number in facts.numbers and types.kind(types.bare(type_id)) == btf.PTR:
                yield f"argument {number + 1} of {self.name} is {types.describe(type_id)} there, a number here"


def may_be_read_as(types, type_id, names):
    """Whether an argument of that type points, or may point, to a struct of one of these names."""
    bare = types.bare(type_id)
    if types.kind(bare) != btf.PTR:
        return types.kind(bare) == btf.INT and types.size(bare) == btf.POINTER_SIZE
    pointed = types.bare(types.target(bare))
    return pointed == btf.VOID or types.name(pointed) in map(essential, names)


def find(types, section):
    """The Hook of a section's name. Hooks that BTF does not describe are taken to exist."""
    kind, _, name = section.partition("/")
    kind, name = kind.removesuffix(".s"), name.rpartition("/")[2]
    if kind in ("tp_btf", "raw_tp") or (kind == "tp" and not section.startswith("tp/syscalls/")):
        found = types.find(f"btf_trace_{name}", btf.TYPEDEF)
        if not found or kind == "tp":
            return Hook(name, bool(found))
        prototype = types.target(types.bare(found[0]))
        return Hook(name, True, [of for _, of in types.parameters(prototype)][1:])
    if kind in ("fentry", "fexit"):
        found = types.find(name, btf.FUNC)
        return Hook(name, bool(found), [of for _, of in types.parameters(types.target(found[0]))] if found else None)
    if kind == "kprobe":
        return Hook(name, bool(types.find(name, btf.FUNC)))
    if kind == "iter":
        return Hook(name, bool(types.find(f"bpf_iter_{name}", btf.FUNC)))
    return Hook(name, True)
