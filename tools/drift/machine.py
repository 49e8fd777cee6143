"""BPF arithmetic on values that are known before a program runs."""

MASK = (1 << 64) - 1
CLASS_LD, CLASS_LDX, CLASS_ST, CLASS_STX, CLASS_ALU, CLASS_JMP, CLASS_JMP32, CLASS_ALU64 = range(8)
ADD, SUB, MUL, DIV, OR, AND, LSH, RSH, NEG, MOD, XOR, MOV, ARSH, END = range(0, 0xE0, 0x10)
JA, JEQ, JGT, JGE, JSET, JNE, JSGT, JSGE, CALL, EXIT, JLT, JLE, JSLT, JSLE, MAY_GOTO = range(0, 0xF0, 0x10)
FROM_REGISTER = 8  # a flag of an operation: the other operand is a register, no immediate
SIZES = {0x00: 4, 0x08: 2, 0x10: 1, 0x18: 8}
MODE, MEMORY, ATOMIC = 0xE0, 0x60, 0xC0


def signed(value, bits):
    return value - (1 << bits) if value >> bits - 1 & 1 else value


def calculate(operation, left, right, bits):
    """The result of an operation on two numbers; None if it does not matter."""
    mask = (1 << bits) - 1
    left, right = left & mask, right & mask
    shift = right & bits - 1
    if operation in (DIV, MOD) and not right:
        return None
    results = {
        ADD: lambda: left + right, SUB: lambda: left - right, MUL: lambda: left * right, DIV: lambda: left // right,
        OR: lambda: left | right, AND: lambda: left & right, LSH: lambda: left << shift, RSH: lambda: left >> shift,
        NEG: lambda: -left, MOD: lambda: left % right, XOR: lambda: left ^ right, MOV: lambda: right,
        ARSH: lambda: signed(left, bits) >> shift,
    }
    return results[operation]() & mask if operation in results else None


def holds(operation, left, right, bits):
    """Whether a jump is taken."""
    mask = (1 << bits) - 1
    left, right = left & mask, right & mask
    a, b = signed(left, bits), signed(right, bits)
    return {
        JEQ: left == right, JNE: left != right, JGT: left > right, JGE: left >= right, JLT: left < right,
        JLE: left <= right, JSET: bool(left & right), JSGT: a > b, JSGE: a >= b, JSLT: a < b, JSLE: a <= b,
    }[operation]
