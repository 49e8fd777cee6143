"""The parts of a BPF object that a kernel would refuse, and the optional ones that it lacks."""
import collections
import dataclasses

from drift import btf, core, externs, flow, hooks
from drift.objects import Relocation

WHOLE = "(whole object)"
LOADS_AND_STORES = (1, 2, 3)  # classes of instructions


@dataclasses.dataclass
class Findings:
    """`problems` is {problem: its programs}, `has` {optional part: whether the kernel has it}."""
    problems: dict = dataclasses.field(default_factory=lambda: collections.defaultdict(list))
    has: dict = dataclasses.field(default_factory=dict)

    def add(self, text, program):
        if program not in self.problems[text]:
            self.problems[text].append(program)


class Flows:
    """The facts about programs, computed once for all kernels with the same answers."""

    def __init__(self):
        self.known = collections.defaultdict(list)

    def of(self, program, ask):
        for answers, facts in self.known[program]:
            if all(ask(question) == answer for question, answer in answers.items()):
                return facts
        answers = {}

        def remembered(question):
            answers[question] = ask(question)
            return answers[question]

        facts = flow.Flow(program, remembered, hooks.has_arguments(program.hook)).facts
        self.known[program].append((answers, facts))
        return facts


class Check:
    """One object in one kernel."""

    def __init__(self, checked, target, flows):
        self.object, self.target, self.flows = checked, target, flows
        self.resolver, self.findings = core.Resolver(checked.btf, target), Findings()
        self.externs = self.look_at_externs()
        self.helpers = helper_numbers(target)
        for program in checked.programs:
            self.program(program)

    def look_at_externs(self):
        found = externs.Externs(self.object, self.target)
        for problem in found.problems:
            self.findings.add(problem, WHOLE)
        for extern in self.object.externs.values():
            if extern.is_weak and extern.type_id:
                self.findings.has[f"function {extern.name}"] = found.there[extern.name]
        return found.there

    def program(self, program):
        hook = hooks.find(self.target, program.hook)
        if program.is_off_by_default:
            self.findings.has[program.hook] = hook.exists
        if not hook.exists:
            if not program.is_off_by_default or hook.name in hooks.ESSENTIAL:
                self.findings.add(f"{program.hook} is not there", program.name)
            return
        facts = self.flows.of(program, self.ask)
        for problem in (*self.relocations(facts), *hook.problems(self.target, self.object.btf, facts),
                        *self.calls(program, facts)):
            self.findings.add(problem, program.name)

    def ask(self, question):
        if isinstance(question, str):
            return self.externs.get(question)
        relocation = Relocation(*question)
        value = self.resolver.resolve(relocation).value
        if relocation.kind in core.EXISTENCE:
            self.findings.has[f"{core.WORDS[relocation.kind]} {core.path(self.object.btf, relocation)}"] = bool(value)
        return value

    def relocations(self, facts):
        for function, number in facts.reached:
            instruction = function.code[number]
            if not instruction.relocation:
                continue
            answer = self.resolver.resolve(instruction.relocation)
            if answer.problem:
                yield answer.problem
            elif answer.load_problem and instruction.code & 7 in LOADS_AND_STORES:
                yield f"{core.path(self.object.btf, instruction.relocation)} {answer.load_problem}"

    def calls(self, program, facts):
        """Calls of absent functions. A program that is off by default is for kernels with them."""
        for number in facts.helpers - self.helpers:
            yield f"helper {number} of BPF, which is called, is not there"
        for name in () if program.is_off_by_default else facts.externs:
            if self.externs.get(name) is False and self.object.externs[name].is_weak:
                yield f"{name}, which is called, is not there"


def helper_numbers(types):
    return {value for found in types.find("bpf_func_id", *btf.ENUMS) for value in types.enumerators(found).values()}
