"""Kernels for the laboratory: where each comes from, unpacked under build/vm, and what it boots with.

Debian's packages are fetched by apt-get as this machine has it configured, checked by it, unpacked, and never
installed; those of newer suites than the machine's from the same mirror, with lists of their own under build/vm, so
that the machine's apt never hears of them. What is there is used as it is: a second run needs no network;
`rm -r build/vm` begins anew.
"""
import gzip
import pathlib
import platform
import shutil
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CACHE = SOURCE / "build/vm"
# name: (package that stands for the newest kernel of its kind, what it is)
DEBIAN = {
    "stock": ("linux-image-amd64", "Debian's kernel"),
    "rt": ("linux-image-rt-amd64", "Debian's kernel with PREEMPT_RT"),
}
BUILT = {"tracers": "a small kernel with every latency tracer (tests/vm/build_kernel)"}
# name: (package, what it is, the suites that may have it, what its configuration must have)
NEWER = {
    "rt-new": ("linux-image-rt-amd64", "a newer Debian's kernel with PREEMPT_RT", ["{codename}-backports", "trixie"],
               ["CONFIG_PREEMPT_RT=y", "CONFIG_TIMERLAT_TRACER=y"]),
}
NAMES = [*DEBIAN, *BUILT, *NEWER]
OPTIONAL = [*BUILT, *NEWER]
WHAT = {name: row[1] for name, row in [*DEBIAN.items(), *NEWER.items()]} | BUILT
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# What the guest needs before it can see a file of ours; the rest it loads from our files.
FIRST_MODULES = ["virtio_pci", "virtio_blk", "9pnet_virtio", "9p", "overlay", "crc32c_generic", "ext4"]


class Missing(Exception):
    """There is no such kernel here, for this reason: not a failure of what would be tested in it."""


class Kernel:
    """An unpacked kernel: `folder` holds boot/ and lib/modules/ as its package does."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        self.image = next((folder / "boot").glob("vmlinuz-*"))
        self.release = self.image.name.removeprefix("vmlinuz-")
        self.modules = folder / "lib/modules" / self.release


def prepare(name):
    """The Kernel of this name, fetched and unpacked where it is not there yet. Raises Missing."""
    folder = CACHE / "kernels" / name
    if not (folder / "ready").exists():
        if name in BUILT:
            raise Missing(f"kernel {name} has not been built: run tests/vm/build_kernel")
        unpack(fetch_newer(name) if name in NEWER else fetch(DEBIAN[name][0]), folder)
    kernel = Kernel(name, folder)
    configuration = (folder / f"boot/config-{kernel.release}").read_text().splitlines() if name in NEWER else []
    for option in NEWER[name][3] if name in NEWER else []:
        if option not in configuration:
            raise Missing(f"{kernel.release} is built without {option}")
    return kernel


def fetch(meta_package, apt=(), update="tools/as_root"):
    """Downloads what a package like linux-image-amd64 stands for, after asking for newer lists if need be. `apt` are
    options of apt's; `update` asks as whom."""
    folder = CACHE / "packages"
    folder.mkdir(parents=True, exist_ok=True)
    apt = [*apt, "-o", "APT::Sandbox::User=root"]
    for newer in (False, True):
        if newer:
            run(*([update] if update else []), "apt-get", *apt, "update", "--quiet", check=False)
        package = depends_on_kernel(meta_package, apt)
        if package and run("apt-get", *apt, "download", "--quiet", package, cwd=folder, check=False).returncode == 0:
            return max(folder.glob(f"{package}_*.deb"), key=lambda path: path.stat().st_mtime)
    raise Missing(f"apt-get cannot download {meta_package} here")


def fetch_newer(name):
    """As fetch(), of suites that this machine's apt does not know."""
    codename, mirror = debian_mirror()
    reasons = []
    for suite in (each.format(codename=codename) for each in NEWER[name][2]):
        folder = CACHE / "apt" / suite
        for part in ("lists/partial", "cache/archives/partial"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        (folder / "sources.list").write_text(f"deb [signed-by={KEYRING}] {mirror} {suite} main\n")
        options = {"Dir::Etc::sourcelist": folder / "sources.list", "Dir::Etc::sourceparts": "-", "Dir::State": folder,
                   "Dir::State::status": "/dev/null", "Dir::Cache": folder / "cache", "Acquire::Languages": "none"}
        try:
            return fetch(NEWER[name][0], [word for pair in options.items() for word in ("-o", "=".join(map(str, pair)))],
                         update=None)
        except Missing as missing:
            reasons.append(f"{missing}, of {suite}")
    raise Missing("; ".join(reasons))


def debian_mirror():
    """(This machine's release of Debian, where its apt has that from)."""
    try:
        codename = platform.freedesktop_os_release().get("VERSION_CODENAME")
    except OSError:
        codename = None
    targets = run("apt-get", "indextargets", "--format", "$(RELEASE) $(SITE)", "Created-By: Packages", check=False).stdout
    for release, site in (line.split(maxsplit=1) for line in targets.splitlines() if " " in line):
        if release == codename:
            return codename, site
    raise Missing("this machine's apt names no mirror of its own release")


def depends_on_kernel(meta_package, apt=()):
    listing = run("apt-cache", *apt, "depends", "--important", meta_package, check=False).stdout.splitlines()
    depends = [line.split()[-1] for line in listing if line.strip().startswith("Depends: linux-image-")]
    return depends[0] if depends else None


def unpack(package, folder):
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    run("dpkg", "-x", package, part)
    package.unlink()
    # Since Debian 13 a package has its modules under /usr.
    if not (part / "lib").exists():
        (part / "lib").symlink_to("usr/lib")
    release = next((part / "boot").glob("vmlinuz-*")).name.removeprefix("vmlinuz-")
    run("busybox", "depmod", "-b", part, release)
    (part / "ready").touch()
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)


def load_order(kernel):
    """Paths of FIRST_MODULES and of what they need, each after what it needs; none that is built in."""
    needs = {}
    for line in (kernel.modules / "modules.dep").read_text().splitlines():
        module, _, others = line.partition(":")
        needs[pathlib.Path(module).name.split(".")[0].replace("-", "_")] = (module, others.split())
    order = []

    def add(path):
        name = pathlib.Path(path).name.split(".")[0].replace("-", "_")
        for other in needs[name][1]:
            add(other)
        if needs[name][0] not in order:
            order.append(needs[name][0])

    for name in FIRST_MODULES:
        if name in needs:
            add(needs[name][0])
    return order


def make_initramfs(kernel, path):
    """busybox, our init, and the modules that bring in the host's files."""
    root = path.with_suffix(".dir")
    shutil.rmtree(root, ignore_errors=True)
    for folder in ("bin", "dev", "proc", "host", "disk", "root", "modules"):
        (root / folder).mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), root / "bin/busybox")
    shutil.copy(SOURCE / "tests/vm/init", root / "init")
    names = []
    for number, module in enumerate(load_order(kernel)):
        names.append(f"{number:02}-{pathlib.Path(module).name}")
        shutil.copy(kernel.modules / module, root / "modules" / names[-1])
    files = "\n".join(str(file.relative_to(root)) for file in [root, *sorted(root.rglob("*"))])
    archive = subprocess.run(["cpio", "--create", "--format=newc", "--quiet", "--owner=0:0"], cwd=root, check=True,
                             input=files.encode(), stdout=subprocess.PIPE).stdout
    path.write_bytes(gzip.compress(archive, 1))
    shutil.rmtree(root)


def run(*command, cwd=SOURCE, check=True):
    try:
        return subprocess.run(list(map(str, command)), cwd=cwd, check=check, text=True, stdin=subprocess.DEVNULL,
                              capture_output=True)
    except FileNotFoundError:
        raise Missing(f"{command[0]} is not installed: run tools/setup vm") from None
    except subprocess.CalledProcessError as error:
        raise Missing(f"{' '.join(map(str, command))}: {error.stderr.strip()}") from None
