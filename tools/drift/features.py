"""Optional features in which kernels differ, with names for people: rows of a table."""
import re

LOCAL = "local_timer|reschedule|call_function|call_function_single|irq_work|x86_platform_ipi|spurious_apic|error_apic"
# (name, pattern): a kernel must have every key that the pattern matches. A key without a match has
# a row of its own.
ROWS = [(name, re.compile(pattern)) for name, pattern in [
    ("local interrupts of x86", rf"(tp_btf|raw_tp)/({LOCAL}|thermal_apic)_(entry|exit)"),
    ("interrupts of x86's machine checks", r"(tp_btf|raw_tp)/(threshold_apic|deferred_error_apic)_(entry|exit)"),
    ("NMIs of x86", r"(tp_btf|raw_tp)/nmi_handler"),
    ("interrupts of devices", r"(tp_btf|raw_tp)/irq_handler_(entry|exit)"),
    ("softirqs", r"(tp_btf|raw_tp)/softirq_.*"),
    ("timers", r"(tp_btf|raw_tp)/hrtimer_.*"),
    ("timers of a target's threads alone: a thread by its number", r"function bpf_task_(from_pid|release)(___.*)?"),
    ("work queues", r"(tp_btf|raw_tp)/workqueue_.*"),
    ("block requests", r"(tp_btf|raw_tp)/block_.*"),
    ("block requests of Linux before 5.17", r"field request___before_5_17\..*"),
    ("connections", r"(tp_btf|raw_tp)/inet_.*"),
    ("waits for locks", r"(tp_btf|raw_tp)/contention_.*"),
    ("page faults", r"(tp_btf|raw_tp)/page_fault_.*"),
    ("the file of a page fault", r"constant BPF_FUNC_find_vma"),
    ("who asks for a switch", r"fentry/resched_curr"),
    ("system calls", r"(tp_btf|raw_tp)/sys_(enter|exit)|tp/(raw_)?syscalls/.*"),
    ("forks, executions and names", r"(tp_btf|raw_tp)/(sched_process_.*|task_rename)|tp/(sched|task)/.*"),
    ("switches of threads", r"(tp_btf|raw_tp)/sched_switch"),
    ("moves between control groups", r"(tp_btf|raw_tp)/cgroup_attach_task"),
    ("threads that exist already", r"iter(\.s)?/task"),
    ("functions of the kernel", r"f(entry|exit)/do_exit"),
    ("functions and probes of programs", r"uprobe|usdt"),
    ("preemption off in a BPF program", r"function bpf_preempt_(disable|enable)"),
    ("interrupts off in a BPF program", r"function bpf_local_irq_(save|restore)"),
    ("BPF programs that are preempted", r"function trace_call_bpf_faultable"),
    ("tables of each CPU, looked up from another", r"constant BPF_FUNC_map_lookup_percpu_elem"),
    ("the scheduler's own account of waits", r"field task_struct\.sched_info"),
    ("groups of threads in the scheduler", r"field cfs_rq\.rq"),
    ("spinlocks that sleep: PREEMPT_RT", r"field spinlock___rt\.lock"),
]]
# Like ROWS, but one of the matching keys is enough.
EITHER = [("stacks on the way back to the program: task work", re.compile(r"function bpf_task_work_schedule_\w+"))]


def rows(columns):
    """[(name, [cell per column], {lacking key: names of columns})], of columns (name, {key:
    yes})."""
    keys = sorted({key for _, has in columns for key in has})
    found = []
    for name, pattern in [*ROWS, *EITHER]:
        matched = [key for key in keys if pattern.fullmatch(key)]
        keys = [key for key in keys if key not in matched]
        if matched:
            found.append(row(name, matched, columns, any if (name, pattern) in EITHER else all))
    return found + [row(f"`{key}`", [key], columns, all) for key in keys]


def row(name, keys, columns, enough):
    cells, lacking = [], {}
    for column, has in columns:
        lacks = tuple(key for key in keys if not has.get(key))
        full = enough(has.get(key) for key in keys)
        cells.append("yes" if full else "no" if len(lacks) == len(keys) else "in part")
        if cells[-1] == "in part":
            lacking.setdefault(lacks, []).append(column)
    return name, cells, lacking
