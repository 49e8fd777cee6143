# SPDX-License-Identifier: Apache-2.0
"""The machine and the versions behind the figures, which mean nothing without them."""

import datetime
import glob
import os
import platform
import shutil
import subprocess


def read(path, otherwise="unknown"):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return otherwise


def first_line(argv, cwd=None):
    """The first output line with a digit, such as a version; None if the command cannot run."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    program = shutil.which(argv[0], path=path)
    if not program:
        return None
    try:
        shown = subprocess.run([program, *argv[1:]], capture_output=True, check=False, timeout=20,
                               text=True, errors="replace", cwd=cwd)
    except (OSError, subprocess.TimeoutExpired):
        return None
    for line in (shown.stdout + shown.stderr).splitlines():
        if any(character.isdigit() for character in line):
            return line.strip()
    return None


def package_version(package):
    return first_line(["dpkg-query", "-W", "-f", "${Version}", package])


def cpu_model():
    for line in read("/proc/cpuinfo", "").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def virtualisation():
    shown = first_line_raw(["systemd-detect-virt", "--vm"])
    if shown and shown != "none":
        return f"virtual machine ({shown})"
    flags = read("/proc/cpuinfo", "")
    return "virtual machine" if " hypervisor " in flags else "none seen"


def first_line_raw(argv):
    if not shutil.which(argv[0]):
        return None
    shown = subprocess.run(argv, capture_output=True, check=False, text=True, timeout=20)
    return shown.stdout.strip().splitlines()[0] if shown.stdout.strip() else None


def governor():
    return read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "not visible")


def mitigations():
    """The mitigations in force, by vulnerability, without vulnerabilities of other CPUs."""
    active = []
    for path in sorted(glob.glob("/sys/devices/system/cpu/vulnerabilities/*")):
        state = read(path)
        if state != "Not affected":
            active.append(f"{os.path.basename(path)}: {state}")
    options = [word for word in read("/proc/cmdline", "").split() if word.startswith("mitigations=")]
    return "; ".join([*options, *active]) or "none reported"


def commit(source):
    git = ["git", "-c", "safe.directory=*", "-C", source]  # we are root, and the clone may be a user's
    shown = first_line([*git, "rev-parse", "--short=12", "HEAD"])
    if not shown or " " in shown:
        return "none yet"
    dirty = subprocess.run([*git, "status", "--porcelain"], capture_output=True,
                           check=False, text=True)
    changed = [line for line in dirty.stdout.splitlines() if "docs/benchmarks" not in line]
    return shown + (" with uncommitted changes" if changed else "")


def describe(overdue, source):
    """[(name, value)] in the order to print."""
    versions = {
        "overdue": first_line([overdue, "--version"]),
        "strace": first_line(["strace", "-V"]),
        "perf": first_line(["perf", "--version"]),
        "bpftrace": first_line(["bpftrace", "--version"]),
        "bcc": package_version("bpfcc-tools"),
        "libbpf-tools": package_version("libbpf-tools"),
        "bpftool": first_line(["bpftool", "version"]),
        "redis": first_line(["redis-server", "--version"]),
        "rt-tests": package_version("rt-tests"),
        "PostgreSQL": first_line(["pgbench", "--version"]),
    }
    return [
        ("date", datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")),
        ("commit", commit(source)),
        ("kernel", f"{platform.release()} {platform.machine()}"),
        ("CPU", f"{cpu_model()}, {len(os.sched_getaffinity(0))} usable"),
        ("virtualisation", virtualisation()),
        ("frequency governor", governor()),
        ("clock source", read("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        ("mitigations", mitigations()),
        ("BPF", f"JIT {read('/proc/sys/net/core/bpf_jit_enable')}, run-time statistics "
                f"{read('/proc/sys/kernel/bpf_stats_enabled')} (sysctls)"),
        ("load average", " ".join(read("/proc/loadavg").split()[:3]) + " at the start"),
        *((name, version or "not installed") for name, version in versions.items()),
    ]
