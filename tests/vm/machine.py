"""Runs the guest in QEMU under software emulation, which needs no usable /dev/kvm.

The guest's clocks count the instructions that its CPUs execute (-icount), one a nanosecond, and go on
in real time only while all CPUs are idle. So the guest takes no time of the host's other programs for
its own, and does not see that emulation is slow: times are those of a machine of 1 GHz, whose CPUs
share this rate while more than one of them is busy. One thread emulates all CPUs in turn.
"""
import re
import shlex
import subprocess
import time

import disk
import emulator
import kernels
import qemu

CPUS = 2
MEMORY = "2G"
# Counting instructions, QEMU leaves its translated code after each step of a `rep`. A kernel whose CPU
# claims to be good at them copies and clears byte by byte with one: half of a guest's time.
CPU = "max,erms=off,fsrm=off,fsrs=off,fzrm=off,fsrc=off"
COMPLAINT = re.compile(r"\] (BUG|WARNING|Oops|INFO: (task|rcu)|rcu: INFO|watchdog: BUG|Kernel panic|general protection)")
LOOK_EVERY_S = 1  # hangs must be short: the guest's clocks go on, and tests have time limits
LOOK_EVERY_S_WHERE_RARE = 5  # each check stops the emulator for a moment
ENDED_BADLY = "the guest ended without a result"


def qemu_command(kernel, initramfs, folder):
    arguments = ["console=ttyS0,115200", "panic=-1", "oops=panic", "lsm=landlock,lockdown,yama,apparmor,bpf", "nokaslr",
                 "random.trust_cpu=on", "mitigations=off", "tsc=reliable"]
    return [
        *qemu.find(kernels.CACHE).words, "-accel", "tcg,thread=single", "-icount", "shift=0,sleep=on",
        "-cpu", CPU, "-smp", str(CPUS), "-m", MEMORY,
        "-nodefaults", "-display", "none", "-no-reboot", "-nic", "none", "-kernel", kernel.image,
        "-initrd", initramfs, "-append", " ".join(arguments),
        "-serial", f"file:{folder}/console.log", "-serial", "stdio", "-monitor", "unix:monitor,server,nowait",
        "-fsdev", "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap",
        "-device", "virtio-9p-pci,fsdev=host,mount_tag=host",
        "-fsdev", f"local,id=lab,path={folder},security_model=none",
        "-device", "virtio-9p-pci,fsdev=lab,mount_tag=lab",
        "-drive", f"file={folder}/disk,format=raw,if=none,id=disk,cache=unsafe", "-device", "virtio-blk-pci,drive=disk",
    ]


def run(kernel, build, command, case_filter, folder, timeout):
    """Runs a shell command in the guest, with its output on ours. Leaves the guest's files and
    console.log in `folder`. Returns the exit status, or a sentence that says why there is none."""
    (folder / "Testing").mkdir(parents=True, exist_ok=True)
    for old in ("status", "doctor.json", "kallsyms", "Testing/results.xml", "console.log"):
        (folder / old).unlink(missing_ok=True)
    values = {"tree": kernels.SOURCE, "build": build, "modules": kernel.folder / "lib/modules", "filter": case_filter,
              "command": command}
    lines = [f"{name}={shlex.quote(str(value))}\n" for name, value in values.items()]
    (folder / "environment").write_text("".join(lines))
    initramfs, image = folder / "initramfs", folder / "disk"
    kernels.make_initramfs(kernel, initramfs)
    disk.make(image, build)
    process = subprocess.Popen(list(map(str, qemu_command(kernel, initramfs, folder))), stdin=subprocess.DEVNULL,
                               cwd=folder)
    try:
        if not ends_within(process, folder, timeout):
            return "\n".join([f"the guest was still running after {timeout} s; its CPUs were at",
                              *emulator.where_cpus_are(folder)])
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        for made in (image, folder / "monitor"):
            made.unlink(missing_ok=True)
    try:
        return int((folder / "status").read_text())
    except (OSError, ValueError):
        return ENDED_BADLY


def ends_within(process, folder, timeout):
    """Whether the process ends in time. Repairs a hang of the emulator, and prints a line."""
    look_every_s = LOOK_EVERY_S_WHERE_RARE if qemu.find(kernels.CACHE).new else LOOK_EVERY_S
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        try:
            process.wait(look_every_s)
            return True
        except subprocess.TimeoutExpired:
            for sentence in emulator.healed(folder):
                print(sentence, flush=True)
    return False


def complaints(folder):
    """The guest kernel's warnings and errors, each with the lines that follow it."""
    lines = console(folder)
    found = [number for number, line in enumerate(lines) if COMPLAINT.search(line)]
    return [line for number in found[:3] for line in lines[number:number + 25]]


def console_tail(folder, lines=60):
    return console(folder)[-lines:]


def console(folder):
    return read_lines(folder / "console.log")


def read_lines(path):
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
