"""Reads BTF: the types of a kernel, or of a BPF object."""
import struct

(VOID, INT, PTR, ARRAY, STRUCT, UNION, ENUM, FWD, TYPEDEF, VOLATILE, CONST, RESTRICT, FUNC, FUNC_PROTO, VAR, DATASEC,
 FLOAT, DECL_TAG, TYPE_TAG, ENUM64) = range(20)
MAGIC = 0xEB9F
MODIFIERS = (TYPEDEF, VOLATILE, CONST, RESTRICT, TYPE_TAG)
COMPOSITE = (STRUCT, UNION)
ENUMS = (ENUM, ENUM64)
SIGNED = 1  # a flag of an INT's encoding
POINTER_SIZE = 8
# Bytes after the first twelve of a type: (fixed, per element).
TAILS = {INT: (4, 0), ARRAY: (12, 0), STRUCT: (0, 12), UNION: (0, 12), ENUM: (0, 8), FUNC_PROTO: (0, 8), VAR: (4, 0),
         DATASEC: (0, 12), DECL_TAG: (4, 0), ENUM64: (0, 12)}
WORDS = {STRUCT: "struct ", UNION: "union ", ENUM: "enum ", ENUM64: "enum ", FWD: "struct "}


def essential(name):
    """A name without its flavour, the part from ___ on."""
    at = name.find("___", 1)
    return name if at < 0 else name[:at]


class Member:
    """A member of a struct or union. `bits` is the size of a bit field, or 0."""

    def __init__(self, name, type_id, bit_offset, bits):
        self.name, self.type_id, self.bit_offset, self.bits = name, type_id, bit_offset, bits


class Btf:
    """Types by number; 0 is void. A kernel has 100,000: names and members are read on demand."""

    def __init__(self, data):
        magic, _, _, header, types, types_size, strings, strings_size = struct.unpack_from("<HBBIIIII", data)
        if magic != MAGIC:
            raise ValueError("not BTF")
        self.types = data[header + types:header + types + types_size]
        self.strings = data[header + strings:header + strings + strings_size]
        self.at, self.heads, self.named = [None], [(0, VOID << 24, 0)], {}
        position, unpack = 0, struct.Struct("<III").unpack_from
        while position < types_size:
            head = unpack(self.types, position)
            kind, count = head[1] >> 24 & 0x7F, head[1] & 0xFFFFFF
            if kind > ENUM64:
                raise ValueError(f"BTF with an unknown kind of type: {kind}")
            if head[0]:
                self.named.setdefault(head[0], []).append(len(self.heads))
            self.at.append(position + 12)
            self.heads.append(head)
            fixed, each = TAILS.get(kind, (0, 0))
            position += 12 + fixed + each * count

    def text(self, offset):
        return self.strings[offset:self.strings.index(b"\0", offset)].decode()

    def name(self, type_id):
        return self.text(self.heads[type_id][0])

    def kind(self, type_id):
        return self.heads[type_id][1] >> 24 & 0x7F

    def count(self, type_id):
        return self.heads[type_id][1] & 0xFFFFFF

    def target(self, type_id):
        """The type that a pointer, typedef, function or the like refers to."""
        return self.heads[type_id][2]

    def find(self, name, *kinds):
        """Types of these kinds with this name, flavours aside."""
        found = []
        wanted, position = b"\0" + name.encode(), -1
        while (position := self.strings.find(wanted, position + 1)) >= 0:
            end = position + len(wanted)
            if self.strings[end:end + 1] == b"\0" or self.strings[end:end + 3] == b"___":
                found += self.named.get(position + 1, [])
        return [type_id for type_id in sorted(found)
                if self.kind(type_id) in kinds and essential(self.name(type_id)) == name]

    def bare(self, type_id):
        """The type without typedefs, const and the like."""
        while self.kind(type_id) in MODIFIERS:
            type_id = self.target(type_id)
        return type_id

    def members(self, type_id):
        name_type_offset = struct.iter_unpack(
            "<III", self.types[self.at[type_id]:self.at[type_id] + 12 * self.count(type_id)])
        bit_fields = self.heads[type_id][1] >> 31
        return [Member(self.text(name), of, offset & 0xFFFFFF if bit_fields else offset,
                       offset >> 24 if bit_fields else 0) for name, of, offset in name_type_offset]

    def array(self, type_id):
        """(type of an element, number of elements)"""
        element, _, count = struct.unpack_from("<III", self.types, self.at[type_id])
        return element, count

    def enumerators(self, type_id):
        """{name: value}"""
        signed = self.heads[type_id][1] >> 31
        if self.kind(type_id) == ENUM64:
            rows = struct.iter_unpack("<IQ", self.types[self.at[type_id]:self.at[type_id] + 12 * self.count(type_id)])
        else:
            rows = struct.iter_unpack("<Ii" if signed else "<II",
                                      self.types[self.at[type_id]:self.at[type_id] + 8 * self.count(type_id)])
        return {self.text(name): value for name, value in rows}

    def parameters(self, prototype):
        """[(name, type)]"""
        rows = struct.iter_unpack("<II", self.types[self.at[prototype]:self.at[prototype] + 8 * self.count(prototype)])
        return [(self.text(name), of) for name, of in rows]

    def variables(self, section):
        """The types of the variables in a DATASEC."""
        rows = struct.iter_unpack("<III", self.types[self.at[section]:self.at[section] + 12 * self.count(section)])
        return [of for of, _, _ in rows]

    def int_encoding(self, type_id):
        return struct.unpack_from("<I", self.types, self.at[type_id])[0] >> 24 & 0xF

    def int_bit_offset(self, type_id):
        return struct.unpack_from("<I", self.types, self.at[type_id])[0] >> 16 & 0xFF

    def is_signed(self, type_id):
        kind = self.kind(type_id)
        if kind == INT:
            return self.int_encoding(type_id) == SIGNED
        return kind in ENUMS and bool(self.heads[type_id][1] >> 31)

    def size(self, type_id):
        factor = 1
        while True:
            type_id = self.bare(type_id)
            kind = self.kind(type_id)
            if kind == PTR:
                return factor * POINTER_SIZE
            if kind != ARRAY:
                return factor * self.target(type_id) if kind in (INT, STRUCT, UNION, ENUM, ENUM64, FLOAT) else 0
            type_id, count = self.array(type_id)
            factor *= count

    def describe(self, type_id):
        """The type's name, nearly as in C."""
        kind = self.kind(type_id)
        if type_id == 0:
            return "void"
        if kind == PTR:
            return f"{self.describe(self.target(type_id))}*"
        if kind in (CONST, VOLATILE, RESTRICT, TYPE_TAG):
            return self.describe(self.target(type_id))
        if kind == ARRAY:
            element, count = self.array(type_id)
            return f"{self.describe(element)}[{count}]"
        if kind == FUNC_PROTO:
            arguments = ", ".join(self.describe(of) for _, of in self.parameters(type_id))
            return f"{self.describe(self.target(type_id))}({arguments})"
        return WORDS.get(kind, "") + (self.name(type_id) or "(no name)")
