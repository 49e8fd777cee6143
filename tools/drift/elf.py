"""Reads the needed parts of a BPF ELF file: 64 bits, little-endian."""
import struct

UNDEFINED, WEAK, GLOBAL, HIDDEN = 0, 2, 1, 2
FUNCTION = 2
SYMBOLS, RELOCATIONS = 2, 9


class Symbol:
    def __init__(self, name, info, other, section, value, size):
        self.name, self.section, self.value, self.size = name, section, value, size
        self.kind, self.binding, self.visibility = info & 15, info >> 4, other & 3


class Elf:
    """`sections` is [(name, data)], `relocations` {section's number: {offset: Symbol}}."""

    def __init__(self, data):
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not a 64-bit little-endian ELF file")
        at, = struct.unpack_from("<Q", data, 0x28)
        count, names = struct.unpack_from("<HH", data, 0x3C)
        heads = [struct.unpack_from("<IIQQQQIIQQ", data, at + 64 * number) for number in range(count)]
        bodies = [b"" if head[1] == 8 else data[head[4]:head[4] + head[5]] for head in heads]
        self.sections = [(text(bodies[names], head[0]), body) for head, body in zip(heads, bodies)]
        self.symbols, self.relocations = [], {}
        for head, body in zip(heads, bodies):
            if head[1] == SYMBOLS:
                rows = struct.iter_unpack("<IBBHQQ", body)
                self.symbols = [Symbol(text(bodies[head[6]], name), *row) for name, *row in rows]
        for head, body in zip(heads, bodies):
            if head[1] == RELOCATIONS:
                self.relocations[head[7]] = {offset: self.symbols[info >> 32]
                                             for offset, info in struct.iter_unpack("<QQ", body)}

    def section(self, name):
        return next((body for title, body in self.sections if title == name), b"")


def text(strings, offset):
    return strings[offset:strings.index(b"\0", offset)].decode()
