#!/usr/bin/env python3
"""tools/kernel_drift: programs compiled by clang, against kernels with types changed on purpose."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("OVERDUE_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
sys.dont_write_bytecode = True
sys.path[:0] = [str(SOURCE / "tools"), str(pathlib.Path(__file__).resolve().parent)]
from drift import btf, check, features, objects
import kernel_types

HEAD = """
typedef unsigned char u8; typedef unsigned int u32; typedef unsigned long u64; typedef _Bool bool;
#define SEC(name) __attribute__((section(name), used))
#define __weak __attribute__((weak))
#define __ksym __attribute__((section(".ksyms")))
#define exists(field) __builtin_preserve_field_info(field, 2)
#define ARGUMENT(type, number) ((type)context[number])
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct se { u64 runtime; };
struct task { int on_rq; u32 flags; int pid; u64 gone; struct se se; struct task* leader; char comm[16]; };
struct hrtimer { u64 expires; };
#pragma clang attribute pop
enum constants { CONSTANT_OLD, CONSTANT_NEW };
static long (*probe_read_kernel)(void*, u32, const void*) = (void*)113;
static void* (*get_current_task_btf)(void) = (void*)158;
static long (*loop)(u32, void*, void*, u64) = (void*)181;
const volatile bool configured;
u64 result;
"""
# A program whose first argument is a task.
WAKING = 'SEC("tp_btf/waking") int program(u64* context) {{ struct task* task = (void*)context[0]; {} return 0; }}\n'


def kernel(on_rq="int", flags="u32", gone=False, arguments=("task",), change=None):
    """A kernel's types: as the programs expect them, except for the given changes."""
    types = kernel_types.Types()
    plain = {"int": types.int, "u8": types.u8, "u32": types.u32, "u64": types.u64}
    se = types.record("se", 8, ("runtime", types.u64, 0))
    inner = types.record("", 8, ("pid", types.int, 0), kind=kernel_types.UNION)
    members = [("on_rq", plain[on_rq], 0), ("flags", plain[flags], 8), ("", inner, 16), ("se", se, 24),
               ("comm", types.array(types.u8, 16), 32)]
    task = types.record("task", 64, *members, *([("gone", types.u64, 56)] if gone else []))
    timer = types.record("hrtimer", 8, ("expires", types.u64, 0))
    plain |= {"task": types.pointer(task), "hrtimer": types.pointer(timer), "void*": types.pointer(0)}
    types.tracepoint("waking", *(plain[argument] for argument in arguments))
    types.enum("constants", CONSTANT_OLD=7)
    types.enum("bpf_func_id", BPF_FUNC_probe_read_kernel=113, BPF_FUNC_loop=181)
    if change:
        change(types, plain)
    return types


class Drift(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def compiled(self, text):
        source, made = self.folder / "probe.bpf.c", self.folder / "probe.bpf.o"
        source.write_text(HEAD + text)
        subprocess.run(["clang-19", "-target", "bpf", "-mcpu=v3", "-g", "-O2", "-Wall", "-Wno-unused",
                        "-Wno-pointer-bool-conversion", "-c", source, "-o", made], check=True)
        return made

    def findings(self, text, types):
        return check.Check(objects.BpfObject(self.compiled(text)), btf.Btf(types.data()), check.Flows()).findings

    def problems(self, text, types=None):
        return list(self.findings(text, types or kernel()).problems)

    def accepts(self, text, types=None):
        self.assertEqual(self.problems(text, types), [])

    def refuses(self, words, text, types=None):
        found = self.problems(text, types)
        self.assertEqual(len(found), 1, found)
        self.assertIn(words, found[0])


class Fields(Drift):
    def test_what_is_as_it_was(self):
        self.accepts(WAKING.format("result = task->on_rq + task->flags + task->se.runtime;"))

    def test_signed_that_is_resized(self):
        self.refuses("task.on_rq is u8 there, int here: a direct load of a signed field",
                     WAKING.format("result = task->on_rq;"), kernel(on_rq="u8"))

    def test_signed_that_becomes_a_long(self):
        self.refuses("task.on_rq is unsigned long there", WAKING.format("result = task->on_rq;"), kernel(on_rq="u64"))

    def test_unsigned_that_is_resized(self):
        self.accepts(WAKING.format("result = task->flags;"), kernel(flags="u8"))

    def test_resized_but_copied(self):
        self.accepts(WAKING.format("u8 copy; probe_read_kernel(&copy, 1, &task->on_rq); result = copy;"),
                     kernel(on_rq="u8"))

    def test_that_moved_into_an_anonymous_union(self):
        self.accepts(WAKING.format("result = task->pid;"))

    def test_that_is_gone(self):
        self.refuses("task.gone is not there", WAKING.format("result = task->gone;"))
        self.accepts(WAKING.format("result = task->gone;"), kernel(gone=True))

    def test_of_another_kind(self):
        def pointer(types, plain):
            types.record("other", 8, ("runtime", plain["void*"], 0))
        text = "struct other { u64 runtime; } __attribute__((preserve_access_index));\n"
        text += WAKING.format("result = ((struct other*)task->se.runtime)->runtime;")
        self.refuses("runtime is void* there, u64 here", text, kernel(change=pointer))

    def test_of_a_type_that_is_gone(self):
        text = "struct lost { u64 field; } __attribute__((preserve_access_index));\n"
        text += WAKING.format("result = ((struct lost*)task->se.runtime)->field;")
        self.refuses("there is no struct lost there", text)

    def test_beyond_the_end_of_an_array(self):
        self.accepts(WAKING.format("result = task->comm[15];"))
        text = "struct hrtimer___long { u64 expires; u8 more[4]; } __attribute__((preserve_access_index));\n"
        text += WAKING.format("result = ((struct hrtimer___long*)task->se.runtime)->more[3];")

        def short(types, plain):
            types.record("hrtimer", 16, ("more", types.array(types.u8, 3), 0))
        self.refuses("more", text, kernel(change=short))


class Guards(Drift):
    def test_field_behind_its_existence(self):
        self.accepts(WAKING.format("if (exists(task->gone)) result = task->gone;"))

    def test_field_behind_the_opposite(self):
        self.refuses("task.gone is not there", WAKING.format("if (!exists(task->gone)) result = task->gone;"))

    def test_field_behind_a_constant_of_an_enum(self):
        text = WAKING.format("if (__builtin_preserve_enum_value(*(typeof(enum constants)*){}, 0)) result = task->gone;")
        text = text.replace("{}", "CONSTANT_NEW")
        self.accepts(text)
        self.refuses("task.gone", text.replace("CONSTANT_NEW", "CONSTANT_OLD"))

    def test_guard_through_the_stack_and_a_function(self):
        text = """
        static __attribute__((noinline)) u64 read(struct task* task, int there) {
          volatile u64 answer = 0;
          if (there) answer = task->gone;
          return answer;
        }
        """ + WAKING.format("result = read(task, exists(task->gone)); result += read(task, {}exists(task->gone));")
        self.accepts(text.replace("{}", ""))
        self.refuses("task.gone", text.replace("{}", "!"))

    def test_guard_around_a_global_function(self):
        text = """
        __attribute__((noinline)) u64 read(struct task** task) { return task && {} ? (*task)->gone : 0; }
        """ + WAKING.format("if (exists(task->gone)) result = read(&task);")
        self.accepts(text.replace("{}", "exists((*task)->gone)"))
        self.refuses("task.gone", text.replace("{}", "configured"))

    def test_guard_that_a_function_returns(self):
        text = """
        static __attribute__((noinline)) u64 has(struct task* task) { return {}exists(task->gone); }
        """ + WAKING.format("if (has(task)) result = task->gone;")
        self.accepts(text.replace("{}", ""))
        self.refuses("task.gone", text.replace("{}", "configured | "))

    def test_another_kernel_answers_otherwise(self):
        flows, probe = check.Flows(), objects.BpfObject(self.compiled(
            WAKING.format("if (exists(task->gone)) result = (u64)get_current_task_btf();")))
        for gone, problems in ((False, 0), (True, 1), (False, 0)):
            found = check.Check(probe, btf.Btf(kernel(gone=gone).data()), flows).findings
            self.assertEqual((len(found.problems), found.has), (problems, {"field task.gone": gone}))

    def test_what_user_space_sets_goes_both_ways(self):
        self.refuses("task.gone is not there", WAKING.format("if (configured) result = task->gone;"))

    def test_in_what_a_loop_calls(self):
        text = """
        static long each(u64 number, struct task** task) { result = {}get_current_task_btf(); return 0; }
        """.replace("{}get_current_task_btf()", "{}")
        text += WAKING.format("loop(8, each, &task, 0);")
        self.refuses("task.gone", text.replace("{}", "({ struct task* of = *task; of->gone; })"))
        self.accepts(text.replace("{}", "({ struct task* of = *task; exists(of->gone) ? of->gone : 0; })"))

    def test_a_helper_that_is_not_there(self):
        self.refuses("helper 158", WAKING.format("result = (u64)get_current_task_btf();"))
        self.accepts(WAKING.format("if (exists(task->gone)) result = (u64)get_current_task_btf();"))


class Hooks(Drift):
    SECOND = WAKING.format("result = context[1];")

    def test_an_argument_that_is_not_there(self):
        self.accepts(self.SECOND, kernel(arguments=("task", "u64")))
        self.refuses("waking has 1 arguments there, and argument 2 is read here", self.SECOND)

    def test_an_argument_of_another_type(self):
        self.refuses("argument 1 of waking is struct hrtimer* there, struct task* here",
                     WAKING.format("result = task->flags;"), kernel(arguments=("hrtimer",)))

    def test_a_pointer_that_we_copy_from(self):
        text = WAKING.format("u64 copy; probe_read_kernel(&copy, 8, &task->se); result = copy;")
        self.accepts(text, kernel(arguments=("void*",)))
        self.refuses("argument 1 of waking is unsigned int there", text, kernel(arguments=("u32",)))

    def test_a_number_that_is_a_pointer_there(self):
        text = WAKING.format("if (ARGUMENT(u32, 0) == 7) result = 1;")
        self.accepts(text, kernel(arguments=("u32",)))
        self.refuses("argument 1 of waking is struct task* there, a number here", text)

    def test_a_tracepoint_that_is_not_there(self):
        text = WAKING.format("result = 1;")
        self.refuses("tp_btf/sleeping is not there", text.replace("waking", "sleeping"))
        self.refuses("tp_btf/sched_switch is not there", text.replace("tp_btf/waking", "?tp_btf/sched_switch"))
        optional = self.findings(text.replace("tp_btf/waking", "?tp_btf/sleeping"), kernel())
        self.assertFalse(optional.problems)
        self.assertEqual(optional.has, {"tp_btf/sleeping": False})

    def test_a_function_and_an_iterator(self):
        def functions(types, plain):
            types.function("do_exit", 0, plain["u64"])
            types.function("bpf_iter_task", 0)
        for section in ("fentry/do_exit", "iter/task"):
            text = WAKING.format("result = 1;").replace("tp_btf/waking", section)
            self.accepts(text, kernel(change=functions))
            self.refuses(f"{section} is not there", text)


class Externs(Drift):
    DECLARED = "extern int act(struct task* task, void* last) __weak __ksym;\n"
    GUARDED = DECLARED + WAKING.format("if (act) act(task, 0);")

    @staticmethod
    def act(last="void*", marked=()):
        def change(types, plain):
            number = types.function("act", plain["int"], plain["task"], plain[last])
            if marked:
                types.mark({"act": number, "else": types.function("other", 0)}[marked])
        return kernel(change=change)

    def test_as_declared(self):
        self.accepts(self.GUARDED, self.act())

    def test_weak_and_absent(self):
        self.accepts(self.GUARDED)

    def test_strong_and_absent(self):
        self.refuses("extern act is not there", self.GUARDED.replace("__weak", ""))

    def test_another_prototype(self):
        self.refuses("extern act: argument 2 (a1) is struct task* there, void* here", self.GUARDED, self.act("task"))

    def test_another_prototype_of_what_only_an_optional_program_calls(self):
        self.refuses("refuses the whole object", self.GUARDED.replace("tp_btf", "?tp_btf"), self.act("task"))

    def test_another_prototype_of_what_is_marked_as_optional(self):
        """The loader makes the function absent."""
        marked = self.GUARDED.replace("__ksym", '__ksym __attribute__((btf_decl_tag("optional")))')
        self.accepts(marked, self.act("task"))
        unguarded = marked.replace("if (act) ", "")
        self.refuses("act, which is called, is not there", unguarded, self.act("task"))

    def test_called_where_it_may_be_absent(self):
        text = self.DECLARED + WAKING.format("act(task, 0);")
        self.refuses("act, which is called, is not there", text)
        self.accepts(text.replace("tp_btf", "?tp_btf"))

    def test_a_function_that_programs_may_not_call(self):
        text = self.DECLARED + WAKING.format("act(task, 0);")
        self.accepts(text, self.act(marked="act"))
        self.refuses("act, which is called, is not there", text, self.act(marked="else"))


class Command(Drift):
    """The command itself: its output and its exit status."""

    def run_with(self, types, *options):
        made, kernel_file = self.compiled(WAKING.format("result = task->on_rq;")), self.folder / "vmlinux"
        kernel_file.write_bytes(types.data())
        return subprocess.run([SOURCE / "tools/kernel_drift", "--objects", made, "--btf", kernel_file, *options],
                              check=False, capture_output=True, text=True)

    def test_without_problems(self):
        result = self.run_with(kernel())
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("no problem", result.stdout)

    def test_a_problem_is_a_line(self):
        result = self.run_with(kernel(on_rq="u8"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("  probe.bpf.o  program: task.on_rq is u8 there, int here", result.stdout)

    def test_table(self):
        result = self.run_with(kernel(on_rq="u8"), "--table")
        self.assertEqual(result.returncode, 1)
        self.assertIn("| 1 |", result.stdout)
        self.assertIn("task.on_rq is u8", result.stderr)


class OwnObjects(Drift):
    """The objects of this build, against this kernel's types with names changed."""
    TYPES, BUILT = pathlib.Path("/sys/kernel/btf/vmlinux"), pathlib.Path(os.environ.get("OVERDUE", "")).parent / "src"

    def setUp(self):
        super().setUp()
        if not self.TYPES.exists() or not list(self.BUILT.rglob("*.bpf.o")):
            self.skipTest("no BTF of this kernel, or no build")

    def without(self, *names):
        """(exit status, output) of the check with types in which these names end with another letter."""
        file, types = self.folder / "vmlinux", self.TYPES.read_bytes()
        for old in (b"\0" + name.encode() + b"\0" for name in names):
            if old not in types:
                self.skipTest(f"this kernel has none of {names}")
            types = types.replace(old, old[:-2] + b"~\0")
        file.write_bytes(types)
        result = subprocess.run([SOURCE / "tools/kernel_drift", "--objects", self.BUILT, "--btf", file], check=False,
                                capture_output=True, text=True)
        self.assertEqual(result.stderr, "")
        return result.returncode, result.stdout

    def test_a_field_that_is_gone(self):
        fields = ("on_rq", "on_cpu")
        status, said = self.without(*fields)
        self.assertEqual(status, 1, said)
        for field in fields:
            self.assertRegex(said, rf"(?m)  worst\.bpf\.o  .*track_waking.*: task_struct\.{field} is not there$")

    def test_a_tracepoint_that_is_gone(self):
        status, said = self.without("btf_trace_sched_switch")
        self.assertEqual(status, 1, said)
        self.assertRegex(said, r"(?m)  sched\.bpf\.o  .*on_switch.*: tp_btf/sched_switch is not there$")

    def test_what_is_optional(self):
        status, said = self.without("bpf_task_work_schedule_resume_impl")
        self.assertEqual(status, 0, said)
        self.assertIn("no problem", said)


class Rows(unittest.TestCase):
    def test_in_part_says_what_is_lacking(self):
        columns = [("old", {"tp_btf/block_a": True, "tp_btf/block_b": False}), ("new", {"tp_btf/block_a": True,
                                                                                     "tp_btf/block_b": True})]
        (name, cells, lacking), = features.rows(columns)
        self.assertEqual((name, cells), ("block requests", ["in part", "yes"]))
        self.assertEqual(lacking, {("tp_btf/block_b",): ["old"]})

    def test_what_has_no_name_has_a_row(self):
        self.assertEqual(features.rows([("old", {"field a.b": False})]), [("`field a.b`", ["no"], {})])


if __name__ == "__main__":
    unittest.main()
