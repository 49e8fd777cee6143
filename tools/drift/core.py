"""CO-RE relocations: the values that libbpf finds in a kernel for an object, or why it finds none.

The rules are those of relo_core.c in libbpf: types are looked up by name without flavour, members
by name, also inside anonymous members, and two types of a member are alike if their kinds are.
"""
from drift import btf
from drift.btf import essential

(FIELD_OFFSET, FIELD_SIZE, FIELD_EXISTS, FIELD_SIGNED, FIELD_LEFT_SHIFT, FIELD_RIGHT_SHIFT, TYPE_ID_LOCAL,
 TYPE_ID_TARGET, TYPE_EXISTS, TYPE_SIZE, ENUM_EXISTS, ENUM_VALUE, TYPE_MATCHES) = range(13)
OF_FIELDS = range(FIELD_OFFSET, FIELD_RIGHT_SHIFT + 1)
OF_ENUMS = (ENUM_EXISTS, ENUM_VALUE)
EXISTENCE = (FIELD_EXISTS, TYPE_EXISTS, ENUM_EXISTS, TYPE_MATCHES)
# If nothing is found, libbpf fills in 0 for these; for others, an instruction that is refused.
ZERO_IF_ABSENT = (*EXISTENCE, TYPE_ID_TARGET, TYPE_SIZE)
MAX_DEPTH = 32
WORDS = {FIELD_EXISTS: "field", TYPE_EXISTS: "type", ENUM_EXISTS: "constant", TYPE_MATCHES: "type"}


class Answer:
    """The result of a relocation: a value, or a reason why it, or a direct load, is refused."""

    def __init__(self, value=None, problem="", load_problem=""):
        self.value, self.problem, self.load_problem = value, problem, load_problem


class Step:
    """A step of an access: a member, by name, or an element of an array."""

    def __init__(self, owner, index, name=""):
        self.owner, self.index, self.name = owner, index, name


class Place:
    """The end of an access: its type, and its member if it is one."""

    def __init__(self, type_id, bit_offset, member=None):
        self.type_id, self.bit_offset, self.member = type_id, bit_offset, member


def kinds_alike(one, other):
    return one == other or (one in btf.ENUMS and other in btf.ENUMS)


def parse(types, relocation):
    """([Step], Place) of a relocation of a field, in the object's own types."""
    indexes = [int(word) for word in relocation.access.split(":")]
    type_id, steps, member = relocation.type_id, [Step(relocation.type_id, indexes[0])], None
    bits = indexes[0] * types.size(type_id) * 8
    for index in indexes[1:]:
        type_id = types.bare(type_id)
        if types.kind(type_id) in btf.COMPOSITE:
            member = types.members(type_id)[index]
            if member.name:
                steps.append(Step(type_id, index, member.name))
            type_id, bits = member.type_id, bits + member.bit_offset
        else:
            type_id, _ = types.array(type_id)
            steps.append(Step(type_id, index))
            bits, member = bits + index * types.size(type_id) * 8, None
    return steps, Place(type_id, bits, member)


def path(types, relocation):
    """An access as a person writes it: task_struct.se.cfs_rq."""
    root = types.name(types.bare(relocation.type_id)) or "(no name)"
    if relocation.kind in OF_ENUMS:
        return list(types.enumerators(types.bare(relocation.type_id)))[int(relocation.access)]
    if relocation.kind not in OF_FIELDS:
        return types.describe(relocation.type_id)
    steps, _ = parse(types, relocation)
    return root + "".join(f".{step.name}" if step.name else f"[{step.index}]" for step in steps[1:])


class Resolver:
    """The relocations of one object in one kernel."""

    def __init__(self, local, target):
        self.local, self.target, self.known, self.candidates = local, target, {}, {}

    def resolve(self, relocation):
        if relocation.key not in self.known:
            self.known[relocation.key] = self._resolve(relocation)
        return self.known[relocation.key]

    def _resolve(self, relocation):
        if relocation.kind == TYPE_ID_LOCAL:
            return Answer(relocation.type_id)
        of = self._of_field if relocation.kind in OF_FIELDS else (
            self._of_enum if relocation.kind in OF_ENUMS else self._of_type)
        found = [answer for answer in (of(relocation, each) for each in self._candidates(relocation)) if answer]
        if not found:
            return Answer(0) if relocation.kind in ZERO_IF_ABSENT else Answer(problem=self._why_not(relocation))
        if any(answer.value != found[0].value for answer in found):
            what = path(self.local, relocation)
            return Answer(problem=f"{what} is there twice, and differs: libbpf refuses the object")
        return found[0]

    def _candidates(self, relocation):
        """The kernel's types of that name and kind."""
        local = self.local.bare(relocation.type_id)
        if local not in self.candidates:
            kind = self.local.kind(local)
            kinds = btf.ENUMS if kind in btf.ENUMS else (kind,)
            name = essential(self.local.name(local))
            self.candidates[local] = self.target.find(name, *kinds) if name else []
        return self.candidates[local]

    def _of_field(self, relocation, candidate):
        steps, here = parse(self.local, relocation)
        there = self._follow(steps, candidate)
        if there is None:
            return None
        if relocation.kind == FIELD_EXISTS:
            return Answer(1)
        return field_value(self.target, there, relocation.kind, self._load_problem(here, there))

    def _follow(self, steps, type_id):
        """The Place to which these steps lead in the kernel's types; None if they do not."""
        place = Place(type_id, steps[0].index * self.target.size(type_id) * 8)
        for step in steps[1:]:
            place = self._member(step, place) if step.name else self._element(step, place)
            if place is None:
                return None
        return place

    def _element(self, step, place):
        type_id = self.target.bare(place.type_id)
        if self.target.kind(type_id) != btf.ARRAY:
            return None
        element, count = self.target.array(type_id)
        is_flexible = count == 0 and place.member is not None
        if step.index >= count and not is_flexible:
            return None
        return Place(element, place.bit_offset + step.index * self.target.size(element) * 8)

    def _member(self, step, place, depth=0):
        type_id = self.target.bare(place.type_id)
        if self.target.kind(type_id) not in btf.COMPOSITE or depth > MAX_DEPTH:
            return None
        for member in self.target.members(type_id):
            there = Place(member.type_id, place.bit_offset + member.bit_offset, member)
            if not member.name:
                if found := self._member(step, there, depth + 1):
                    return found
            elif member.name == step.name:
                local = self.local.members(step.owner)[step.index]
                return there if self._alike(local.type_id, member.type_id) else None
        return None

    def _alike(self, here, there):
        """Whether libbpf takes two types of a member for the same."""
        here, there = self.local.bare(here), self.target.bare(there)
        kind, other = self.local.kind(here), self.target.kind(there)
        if kind in btf.COMPOSITE and other in btf.COMPOSITE:
            return True
        if not kinds_alike(kind, other):
            return False
        if kind == btf.ARRAY:
            return self._alike(self.local.array(here)[0], self.target.array(there)[0])
        if kind == btf.INT:
            return self.local.int_bit_offset(here) == 0 == self.target.int_bit_offset(there)
        if kind in (*btf.ENUMS, btf.FWD):
            names = essential(self.local.name(here)), essential(self.target.name(there))
            return not all(names) or names[0] == names[1]
        return kind in (btf.PTR, btf.FLOAT)

    def _load_problem(self, here, there):
        """libbpf adapts the width of a load only for pointers and unsigned integers."""
        if self.local.size(here.type_id) == self.target.size(there.type_id):
            return ""
        ours, theirs = self.local.bare(here.type_id), self.target.bare(there.type_id)
        kinds = self.local.kind(ours), self.target.kind(theirs)
        if kinds == (btf.PTR, btf.PTR):
            return ""
        both_int = kinds == (btf.INT, btf.INT)
        if both_int and not self.local.is_signed(ours) and not self.target.is_signed(theirs):
            return ""
        why = "a direct load of a signed field does not resize" if both_int else "a direct load of it does not resize"
        return f"is {self.target.describe(there.type_id)} there, {self.local.describe(here.type_id)} here: {why}"

    def _of_type(self, relocation, candidate):
        if relocation.kind == TYPE_MATCHES:
            raise NotImplementedError("bpf_core_type_matches()")
        if not compatible(self.local, relocation.type_id, self.target, candidate):
            return None
        values = {TYPE_EXISTS: 1, TYPE_SIZE: self.target.size(candidate), TYPE_ID_TARGET: candidate}
        return Answer(values[relocation.kind])

    def _of_enum(self, relocation, candidate):
        local = self.local.enumerators(self.local.bare(relocation.type_id))
        wanted = essential(list(local)[int(relocation.access)])
        for name, value in self.target.enumerators(candidate).items():
            if essential(name) == wanted:
                return Answer(1 if relocation.kind == ENUM_EXISTS else value)
        return None

    def _why_not(self, relocation):
        """A sentence about the first part of the access that the kernel lacks."""
        wanted = path(self.local, relocation)
        candidates = self._candidates(relocation)
        if not candidates:
            return f"{wanted}: there is no {self.local.describe(self.local.bare(relocation.type_id))} there"
        if relocation.kind not in OF_FIELDS:
            return f"{wanted} is not there"
        steps, _ = parse(self.local, relocation)
        last = next(number for number in range(2, len(steps) + 1) if not self._follow(steps[:number], candidates[0]))
        before, step = self._follow(steps[:last - 1], candidates[0]), steps[last - 1]
        theirs = find_member(self.target, before.type_id, step.name) if step.name else None
        if theirs is None:
            return f"{wanted} is not there"
        ours = self.local.members(step.owner)[step.index]
        return (f"{wanted} does not resolve: {step.name} is {self.target.describe(theirs.type_id)} there, "
                f"{self.local.describe(ours.type_id)} here")


def find_member(types, type_id, name):
    """The member of that name, also inside anonymous members."""
    type_id = types.bare(type_id)
    for member in types.members(type_id) if types.kind(type_id) in btf.COMPOSITE else []:
        found = member if member.name == name else find_member(types, member.type_id, name) if not member.name else None
        if found:
            return found
    return None


def field_value(types, place, kind, load_problem):
    bits = place.member.bits if place.member else 0
    size = types.size(place.type_id)
    offset = place.bit_offset // 8
    if bits:
        offset = place.bit_offset // 8 // size * size
        while place.bit_offset + bits - offset * 8 > size * 8:
            size, offset = size * 2, place.bit_offset // 8 // (size * 2) * (size * 2)
    if kind == FIELD_OFFSET:
        return Answer(offset, load_problem="" if bits else load_problem)
    bit_size = bits or size * 8
    values = {FIELD_SIZE: size, FIELD_SIGNED: int(types.is_signed(types.bare(place.type_id))),
              FIELD_LEFT_SHIFT: 64 - (place.bit_offset + bit_size - offset * 8), FIELD_RIGHT_SHIFT: 64 - bit_size}
    return Answer(values[kind])


def compatible(local, here, target, there, depth=0):
    """Whether libbpf takes two types for the same, by their kinds; functions by all arguments."""
    here, there = local.bare(here), target.bare(there)
    kind = local.kind(here)
    if not kinds_alike(kind, target.kind(there)) or depth > MAX_DEPTH:
        return False
    if kind == btf.INT:
        return local.int_bit_offset(here) == 0 == target.int_bit_offset(there)
    if kind == btf.PTR:
        return compatible(local, local.target(here), target, target.target(there), depth + 1)
    if kind == btf.ARRAY:
        return compatible(local, local.array(here)[0], target, target.array(there)[0], depth + 1)
    if kind == btf.FUNC_PROTO:
        ours, theirs = local.parameters(here), target.parameters(there)
        pairs = [(local.target(here), target.target(there)), *((one[1], other[1]) for one, other in zip(ours, theirs))]
        return len(ours) == len(theirs) and all(compatible(local, mine, target, other, depth + 1)
                                                for mine, other in pairs)
    return kind in (btf.VOID, *btf.COMPOSITE, *btf.ENUMS, btf.FWD)
