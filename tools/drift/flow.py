"""The code of a program that can run, given a kernel's values: the verifier looks at nothing else.

Constants are followed through registers and the stack, into functions and out of them. Where paths
meet, differing values become unknown; a jump with known operands goes one way. So no code that runs
is left out, but some that does not run may be included: the verifier follows each path by itself,
and knows more.
"""
import dataclasses

from drift import core
from drift.machine import (ADD, AND, ARSH, ATOMIC, CALL, CLASS_ALU, CLASS_ALU64, CLASS_JMP, CLASS_JMP32, CLASS_LD,
                           CLASS_LDX, CLASS_STX, END, EXIT, FROM_REGISTER, JA, JEQ, JNE, LSH, MASK, MAY_GOTO,
                           MEMORY, MODE, MOV, RSH, SIZES, calculate, holds)

# A value is None (unknown), a number, or one of these.
NOT_NULL = ("not null",)
CONTEXT = ("context",)
FRAME = 10  # the register that points to the end of the stack


def stack(function, offset):
    """A pointer into that function's stack; offset None if unknown."""
    return "stack", function, offset


def argument(number):
    """The unchanged value of that argument of the hook."""
    return "argument", number


def field_of(type_id):
    """The offset of a field of that type, which differs between kernels."""
    return "field", type_id


def is_a(value, kind):
    return isinstance(value, tuple) and value[0] == kind


@dataclasses.dataclass
class Facts:
    """The effects of the instructions that can run. `pointers` are (argument, type that it is read
    as), `numbers` arguments that are used as numbers, `helpers` and `externs` the called functions,
    by number and by name."""
    reached: set = dataclasses.field(default_factory=set)
    arguments: set = dataclasses.field(default_factory=set)
    pointers: set = dataclasses.field(default_factory=set)
    numbers: set = dataclasses.field(default_factory=set)
    helpers: set = dataclasses.field(default_factory=set)
    externs: set = dataclasses.field(default_factory=set)


class State:
    """Registers, and the stack slots of eight bytes with known values."""
    __slots__ = ("registers", "slots")

    def __init__(self, registers, slots):
        self.registers, self.slots = registers, slots

    def copy(self):
        return State(self.registers[:], dict(self.slots))

    def meet(self, other):
        """Keeps the values that both have. Returns whether these are fewer than before."""
        changed = False
        for number, (mine, theirs) in enumerate(zip(self.registers, other.registers)):
            if mine != theirs and mine is not None:
                both_stack = is_a(mine, "stack") and is_a(theirs, "stack") and mine[1] is theirs[1]
                met = stack(mine[1], None) if both_stack else None
                changed |= met != mine
                self.registers[number] = met
        for offset in [offset for offset, value in self.slots.items() if other.slots.get(offset) != value]:
            del self.slots[offset]
            changed = True
        return changed

    def forget(self, begin, end=0):
        """Forgets the stack between these offsets: it has been, or may have been, written to."""
        for offset in [offset for offset in self.slots if offset < end and offset + 8 > begin]:
            del self.slots[offset]

    def passes(self, value, function):
        """A pointer leaves the analysed code: the stack may be written to from there on, and so may
        the targets of pointers in it."""
        while is_a(value, "stack") and value[1] is function:
            begin = -(1 << 20) if value[2] is None else value[2]
            inner = [slot for offset, slot in self.slots.items() if offset >= begin and is_a(slot, "stack")]
            self.forget(begin)
            value = min(inner, key=lambda slot: -(1 << 20) if slot[2] is None else slot[2], default=None)


def global_functions(program):
    """The functions that the code names, even in code that cannot run: the verifier checks each by
    itself. (Since Linux 6.8, only those that are called.)"""
    named, work = set(), [program]
    while work:
        callees = {instruction.callee for instruction in work.pop().code if instruction and instruction.callee}
        work += callees - named
        named |= callees
    return [function for function in named if function.is_global]


class Flow:
    """One program. `ask` answers for the kernel: for a relocation's key its result, for an extern's
    name whether the kernel has it, and None if unknown. `has_arguments`: the context is the hook's
    array of arguments."""

    def __init__(self, program, ask, has_arguments):
        self.ask, self.has_arguments = ask, has_arguments
        self.states, self.returned, self.callers, self.work, self.facts = {}, {}, {}, [], Facts()
        self.enter(program, [CONTEXT])
        for function in global_functions(program):
            self.enter(function, [])
        while self.work:
            function, number = self.work.pop()
            self.step(function, number, self.states[function, number].copy())
        self.facts.reached = set(self.states)

    def enter(self, function, arguments):
        registers = [None] * 11
        registers[1:1 + len(arguments)] = arguments
        registers[FRAME] = stack(function, 0)
        self.go(function, 0, State(registers, {}))

    def go(self, function, number, state):
        known = self.states.get((function, number))
        if known is None:
            self.states[function, number] = state.copy()
            self.work.append((function, number))
        elif known.meet(state):
            self.work.append((function, number))

    def step(self, function, number, state):
        instruction = function.code[number]
        kind = instruction.code & 7
        if kind in (CLASS_JMP, CLASS_JMP32):
            self.jump(function, number, instruction, state)
            return
        if kind in (CLASS_ALU, CLASS_ALU64):
            self.compute(instruction, state)
        elif kind == CLASS_LD:
            state.registers[instruction.to] = self.loaded_immediate(instruction)
        elif kind == CLASS_LDX:
            self.load(function, instruction, state)
        else:
            self.store(function, instruction, state)
        self.go(function, number + (2 if kind == CLASS_LD else 1), state)

    def filled_in(self, instruction):
        """The immediate operand of the instruction."""
        relocation = instruction.relocation
        if relocation is None:
            return instruction.immediate & MASK
        if relocation.kind == core.FIELD_OFFSET:
            return field_of(relocation.type_id)
        return self.ask(relocation.key)

    def compute(self, instruction, state):
        operation, bits = instruction.code & 0xF0, 64 if instruction.code & 7 == CLASS_ALU64 else 32
        registers, from_register = state.registers, bool(instruction.code & FROM_REGISTER)
        left = registers[instruction.to]
        right = registers[instruction.source] if from_register else self.filled_in(instruction)
        result = None
        if operation == MOV and bits == 64 and not instruction.offset:
            result = right
        elif operation == MOV or isinstance(left, int):
            if isinstance(right, int) and operation != END and not instruction.offset:
                result = calculate(operation, left if isinstance(left, int) else 0, right, bits)
        elif operation == ADD and is_a(left, "stack") and bits == 64:
            offset = None
            if isinstance(right, int) and left[2] is not None:
                offset = left[2] + (right - (1 << 64) if right >> 63 else right)
            result = stack(left[1], offset)
        if operation == AND and right == 0:
            result = 0
        self.note_use(operation, bits, left, right)
        registers[instruction.to] = result

    def note_use(self, operation, bits, left, right):
        for one, other in ((left, right), (right, left)):
            if is_a(one, "argument") and is_a(other, "field") and operation == ADD:
                self.facts.pointers.add((one[1], other[1]))
        narrowed = right if operation == MOV else left
        if is_a(narrowed, "argument") and (bits == 32 or operation in (AND, LSH, RSH, ARSH)):
            self.facts.numbers.add(narrowed[1])

    def loaded_immediate(self, instruction):
        if instruction.callee:
            self.enter(instruction.callee, [])
            return NOT_NULL
        if instruction.symbol is None:
            if instruction.relocation:
                return self.filled_in(instruction)
            return instruction.immediate & MASK
        if instruction.symbol.section:
            return NOT_NULL
        return {True: NOT_NULL, False: 0, None: None}[self.ask(instruction.symbol.name)]

    def load(self, function, instruction, state):
        base, size = state.registers[instruction.source], SIZES[instruction.code & 0x18]
        plain = instruction.code & MODE == MEMORY
        value = None
        if is_a(base, "stack"):
            if base[1] is function and base[2] is not None and size == 8 and plain:
                value = state.slots.get(base[2] + instruction.offset)
        elif base == CONTEXT and self.has_arguments and not instruction.relocation:
            number = instruction.offset // 8
            self.facts.arguments.add(number)
            value = argument(number) if size == 8 and plain else None
            if size < 8:
                self.facts.numbers.add(number)
        elif is_a(base, "argument") and instruction.relocation:
            self.facts.pointers.add((base[1], instruction.relocation.type_id))
        state.registers[instruction.to] = value

    def store(self, function, instruction, state):
        base, size = state.registers[instruction.to], SIZES[instruction.code & 0x18]
        atomic = instruction.code & MODE == ATOMIC
        from_register = instruction.code & 7 == CLASS_STX
        if is_a(base, "stack") and base[1] is function:
            if base[2] is None:
                state.slots.clear()
            else:
                at = base[2] + instruction.offset
                state.forget(at, at + size)
                value = state.registers[instruction.source] if from_register else instruction.immediate & MASK
                if size == 8 and not atomic and value is not None:
                    state.slots[at] = value
        if atomic and instruction.immediate & 1:  # fetches the old value
            state.registers[0 if instruction.immediate & 0xF0 == 0xF0 else instruction.source] = None

    def jump(self, function, number, instruction, state):
        operation, bits = instruction.code & 0xF0, 64 if instruction.code & 7 == CLASS_JMP else 32
        if operation == CALL:
            self.call(function, number, instruction, state)
        elif operation == EXIT:
            self.leave(function, state.registers[0])
        elif operation == JA:
            self.go(function, number + 1 + (instruction.offset if bits == 64 else instruction.immediate), state)
        else:
            self.branch(function, number, instruction, state)

    def branch(self, function, number, instruction, state):
        operation, bits = instruction.code & 0xF0, 64 if instruction.code & 7 == CLASS_JMP else 32
        there, registers = number + 1 + instruction.offset, state.registers
        from_register = bool(instruction.code & FROM_REGISTER)
        left = registers[instruction.to]
        right = registers[instruction.source] if from_register else self.filled_in(instruction)
        taken = None
        if operation != MAY_GOTO:
            taken = self.outcome(operation, left, right, bits)
            if is_a(left, "argument") and isinstance(right, int) and right:
                self.facts.numbers.add(left[1])
        known = isinstance(right, int) and bits == 64 and left is None
        for way, goes in ((there, taken is not False), (number + 1, taken is not True)):
            if goes:
                state_there = state.copy()
                if known and operation == (JEQ if way == there else JNE):
                    state_there.registers[instruction.to] = right
                self.go(function, way, state_there)

    @staticmethod
    def outcome(operation, left, right, bits):
        """Whether the jump is taken; None if unknown."""
        if isinstance(left, int) and isinstance(right, int):
            return holds(operation, left, right, bits)
        if right == 0 and bits == 64 and operation in (JEQ, JNE) and (left == NOT_NULL or is_a(left, "stack")):
            return operation == JNE
        return None

    def call(self, function, number, instruction, state):
        arguments = state.registers[1:6]
        result = None
        if instruction.callee:
            callee = instruction.callee
            self.callers.setdefault(callee, set()).add((function, number))
            self.enter(callee, [] if callee.is_global else arguments)
            if callee not in self.returned:
                return  # the code after a call runs only after a return
            result = None if callee.is_global else self.returned[callee]
        elif instruction.symbol:
            self.facts.externs.add(instruction.symbol.name)
        elif instruction.source == 0:
            self.facts.helpers.add(instruction.immediate)
        for value in arguments:
            state.passes(value, function)
        state.registers[:6] = [result] + [None] * 5
        self.go(function, number + 1, state)

    def leave(self, function, value):
        if function in self.returned and self.returned[function] in (value, None):
            return
        self.returned[function] = None if function in self.returned else value
        self.work += [caller for caller in self.callers.get(function, ()) if caller in self.states]
