"""Reads a BPF object: programs, functions, instructions, and the values that a kernel fills in."""
import struct

from drift import btf, elf

CALL, LOAD_IMMEDIATE = 0x85, 0x18
PSEUDO_CALL = 1
INSTRUCTION = struct.Struct("<BBhi")


class Relocation:
    """A place in a section that depends on a kernel type."""

    def __init__(self, type_id, access, kind):
        self.type_id, self.access, self.kind = type_id, access, kind

    @property
    def key(self):
        return self.type_id, self.access, self.kind


class Instruction:
    """`relocation` is a type's, `symbol` ELF's, `callee` a function of the object, or None each."""

    def __init__(self, code, registers, offset, immediate):
        self.code, self.to, self.source, self.offset, self.immediate = (
            code, registers & 15, registers >> 4, offset, immediate)
        self.relocation = self.symbol = self.callee = None


class Function:
    """A program, or a function that programs call. `code` has an Instruction for each eight bytes;
    the second half of a 16-byte instruction is None."""

    def __init__(self, symbol, section, code):
        self.name, self.section, self.code = symbol.name, section, code
        self.is_program = section != ".text"
        # The verifier checks a global function by itself, with unknown arguments.
        self.is_global = symbol.binding != 0 and symbol.visibility != elf.HIDDEN

    @property
    def is_off_by_default(self):
        return self.section.startswith("?")

    @property
    def hook(self):
        """The section's name as libbpf sees it."""
        return self.section.lstrip("?")


class Extern:
    """A kernel function or variable. `type_id` is its prototype; 0 if the object does not say."""

    def __init__(self, symbol, type_id):
        self.name, self.is_weak, self.type_id = symbol.name, symbol.binding == elf.WEAK, type_id


class BpfObject:
    def __init__(self, path):
        self.name = path.name
        file = elf.Elf(path.read_bytes())
        self.btf = btf.Btf(file.section(".BTF"))
        self.relocations = read_relocations(file.section(".BTF.ext"), self.btf)
        self.functions = read_functions(file, self.relocations)
        self.externs = {extern.name: extern for extern in read_externs(file, self.btf)}

    @property
    def programs(self):
        return [function for function in self.functions if function.is_program]


def read_relocations(data, types):
    """{(section, offset in bytes): Relocation}, of .BTF.ext."""
    if len(data) < 8 or struct.unpack_from("<I", data, 4)[0] < 32:
        return {}
    header, = struct.unpack_from("<I", data, 4)
    begin, length = struct.unpack_from("<II", data, 24)
    if not length:
        return {}
    position, end = header + begin + 4, header + begin + length
    size, = struct.unpack_from("<I", data, position - 4)
    found = {}
    while position < end:
        name, count = struct.unpack_from("<II", data, position)
        position += 8
        for _ in range(count):
            offset, type_id, access, kind = struct.unpack_from("<IIII", data, position)
            found[types.text(name), offset] = Relocation(type_id, types.text(access), kind)
            position += size
    return found


def read_functions(file, relocations):
    functions, starts = [], {}
    for symbol in file.symbols:
        if symbol.kind == elf.FUNCTION and symbol.section != elf.UNDEFINED:
            section, body = file.sections[symbol.section]
            code = decode(body[symbol.value:symbol.value + symbol.size])
            functions.append(Function(symbol, section, code))
            starts[symbol.section, symbol.value] = functions[-1]
    for (section, start), function in starts.items():
        for number, instruction in enumerate(function.code):
            if instruction:
                offset = start + 8 * number
                instruction.relocation = relocations.get((function.section, offset))
                symbol = file.relocations.get(section, {}).get(offset)
                link(instruction, symbol, (section, offset), starts)
    return functions


def decode(body):
    code = []
    for row in INSTRUCTION.iter_unpack(body):
        first = code[-1] if code else None
        if first and first.code == LOAD_IMMEDIATE:
            first.immediate = (first.immediate & 0xFFFFFFFF) | (row[3] & 0xFFFFFFFF) << 32
            code.append(None)
        else:
            code.append(Instruction(*row))
    return code


def link(instruction, symbol, place, starts):
    instruction.symbol = symbol
    calls = instruction.code == CALL and instruction.source == PSEUDO_CALL
    if calls and (symbol is None or symbol.section != elf.UNDEFINED):
        section, base = (symbol.section, symbol.value) if symbol else place
        instruction.callee = starts[section, base + 8 * (instruction.immediate + 1)]
    elif instruction.code == LOAD_IMMEDIATE and symbol and symbol.section != elf.UNDEFINED:
        if symbol.kind == elf.FUNCTION:
            instruction.callee = starts[symbol.section, symbol.value]
        else:
            instruction.callee = starts.get((symbol.section, symbol.value + instruction.immediate))


def read_externs(file, types):
    of = {}
    for section in types.find(".ksyms", btf.DATASEC):
        for type_id in types.variables(section):
            of[types.name(type_id)] = types.target(type_id)
    for symbol in file.symbols:
        if symbol.name and symbol.section == elf.UNDEFINED and symbol.name in of:
            yield Extern(symbol, of[symbol.name] if types.bare(of[symbol.name]) else 0)
