"""Kernel functions and variables that an object names: whether a kernel has them as declared."""
from drift import btf, core

KFUNC = "bpf_kfunc"  # in a kernel's BTF since Linux 6.10: programs may call the function
NEVER_CALLED = "never called"  # in an object: need not be callable
OPTIONAL = "optional"  # in src/bpf/kernel.h: the loader makes it absent if its prototype differs


class Externs:
    """The externs of one object in one kernel. `there` is {name: whether a program can use it, or
    None if the types do not say}; `problems` has reasons to refuse the object with any program."""

    def __init__(self, checked, target):
        self.ours, self.types, self.problems = checked.btf, target, []
        marks = target.find(KFUNC, btf.DECL_TAG)
        self.marked = {target.target(mark) for mark in marks}
        self.optional, self.never_called = self.tagged(OPTIONAL), self.tagged(NEVER_CALLED)
        self.there = {extern.name: self.look_up(extern) for extern in checked.externs.values()}

    def tagged(self, tag):
        return {self.ours.name(self.ours.target(one)) for one in self.ours.find(tag, btf.DECL_TAG)}

    def look_up(self, extern):
        if not extern.type_id:  # an address: libbpf takes it from the kernel's list of symbols
            return True if self.types.find(extern.name, btf.FUNC, btf.VAR) else None
        is_function = self.ours.kind(extern.type_id) == btf.FUNC_PROTO
        found = self.types.find(core.essential(extern.name), btf.FUNC if is_function else btf.VAR)
        fits = bool(found) and core.compatible(self.ours, extern.type_id, self.types, self.types.target(found[0]))
        # A weak extern with a flavour is for kernels with that prototype: libbpf 1.1 does not find
        # it, newer versions compare prototypes.
        is_for_some = extern.is_weak and (core.essential(extern.name) != extern.name or extern.name in self.optional)
        if found and not fits and not is_for_some:
            self.problems.append(self.difference(extern, self.types.target(found[0]), is_function))
        is_for_programs = not is_function or not self.marked or found[:1] and found[0] in self.marked
        exists = fits and bool(is_for_programs or extern.name in self.never_called)
        if not exists and not extern.is_weak:
            self.problems.append(f"extern {extern.name} is not there, and not weak: libbpf refuses the whole object")
        return exists

    def difference(self, extern, theirs, is_function):
        pairs = [("it", extern.type_id, theirs)]
        if is_function:
            here, there = self.ours.parameters(extern.type_id), self.types.parameters(theirs)
            if len(here) != len(there):
                return self.refused(extern, f"has {len(there)} arguments there, {len(here)} here")
            pairs = [("its result", self.ours.target(extern.type_id), self.types.target(theirs))]
            pairs += [(f"argument {number} ({name})", one, other)
                      for number, ((_, one), (name, other)) in enumerate(zip(here, there), 1)]
        return self.refused(extern, "; ".join(
            f"{what} is {self.types.describe(other)} there, {self.ours.describe(one)} here"
            for what, one, other in pairs if not core.compatible(self.ours, one, self.types, other)))

    @staticmethod
    def refused(extern, how):
        return (f"extern {extern.name}: {how}: func_proto incompatible, for which libbpf 1.1 refuses the whole object, "
                "whatever programs it is to load")
