"""Writes BTF like a kernel's, with a few types, for tests."""
import struct

(INT, PTR, ARRAY, STRUCT, UNION, ENUM, TYPEDEF, FUNC, FUNC_PROTO, DECL_TAG) = 1, 2, 3, 4, 5, 6, 8, 12, 13, 17


class Types:
    """Each method adds a type and returns its number; 0 is void."""

    def __init__(self):
        self.strings, self.types, self.count = b"\0", b"", 0
        self.int = self.add(INT, "int", 4, tail=struct.pack("<I", 1 << 24 | 32))
        self.u8 = self.add(TYPEDEF, "u8", self.add(INT, "unsigned char", 1, tail=struct.pack("<I", 8)))
        self.u32 = self.add(INT, "unsigned int", 4, tail=struct.pack("<I", 32))
        self.u64 = self.add(INT, "unsigned long", 8, tail=struct.pack("<I", 64))

    def text(self, text):
        if not text:
            return 0
        self.strings += text.encode() + b"\0"
        return len(self.strings) - len(text) - 1

    def add(self, kind, name, size_or_type=0, rows=0, tail=b""):
        self.types += struct.pack("<III", self.text(name), kind << 24 | rows, size_or_type) + tail
        self.count += 1
        return self.count

    def pointer(self, to):
        return self.add(PTR, "", to)

    def array(self, of, length):
        return self.add(ARRAY, "", tail=struct.pack("<III", of, self.u32, length))

    def record(self, name, size, *members, kind=STRUCT):
        """Members are (name, type, offset in bytes)."""
        tail = b"".join(struct.pack("<III", self.text(member), of, 8 * offset) for member, of, offset in members)
        return self.add(kind, name, size, len(members), tail)

    def enum(self, name, **values):
        tail = b"".join(struct.pack("<Ii", self.text(constant), value) for constant, value in values.items())
        return self.add(ENUM, name, 4, len(values), tail)

    def prototype(self, result, *arguments):
        tail = b"".join(struct.pack("<II", self.text(f"a{number}"), of) for number, of in enumerate(arguments))
        return self.add(FUNC_PROTO, "", result, len(arguments), tail)

    def function(self, name, result, *arguments):
        return self.add(FUNC, name, self.prototype(result, *arguments))

    def tracepoint(self, name, *arguments):
        return self.add(TYPEDEF, f"btf_trace_{name}", self.pointer(self.prototype(0, self.pointer(0), *arguments)))

    def mark(self, function, tag="bpf_kfunc"):
        return self.add(DECL_TAG, tag, function, tail=struct.pack("<i", -1))

    def data(self):
        head = struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(self.types), len(self.types), len(self.strings))
        return head + self.types + self.strings
