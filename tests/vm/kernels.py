"""The kernels of the laboratory: sources, unpacked files under build/vm, and initramfs.

Existing files are used as they are: a second run needs no network. `rm -r build/vm` starts afresh.
"""
import dataclasses
import gzip
import lzma
import pathlib
import shutil
import subprocess

import packages
from packages import Missing, run

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CACHE = SOURCE / "build/vm"
REALTIME = ("CONFIG_PREEMPT_RT=y", "CONFIG_TIMERLAT_TRACER=y")


@dataclasses.dataclass(frozen=True)
class Source:
    """The source of a kernel. `package` stands for the newest kernel of its kind; the first of
    `suites` that has it counts. tools/kernel_drift also checks kernels that do not boot here."""
    what: str
    package: str = ""
    suites: tuple = ()
    configuration: tuple = ()
    boots: bool = True
    optional: bool = True
    unsupported: str = ""

    @property
    def architecture(self):
        return "arm64" if self.package.endswith("-arm64") else "amd64"

    @property
    def built(self):
        return not self.package


KERNELS = {
    "stock": Source("Debian 12's kernel", "linux-image-amd64", ("bookworm",), optional=False),
    "rt": Source("Debian 12's kernel with PREEMPT_RT", "linux-image-rt-amd64", ("bookworm",), REALTIME, optional=False),
    "tracers": Source("a small kernel with every latency tracer (tests/vm/build_kernel)"),
    "6.12": Source("Debian 13's kernel", "linux-image-amd64", ("trixie", "bookworm-backports")),
    "6.12-rt": Source("Debian 13's kernel with PREEMPT_RT", "linux-image-rt-amd64", ("trixie", "bookworm-backports"),
                      REALTIME),
    "newest": Source("Debian sid's kernel", "linux-image-amd64", ("sid",)),
    "newest-rt": Source("Debian sid's kernel with PREEMPT_RT", "linux-image-rt-amd64", ("sid",), REALTIME, boots=False),
    "6.1-cloud": Source("Debian 12's kernel for clouds", "linux-image-cloud-amd64", ("bookworm",), boots=False),
    "6.12-cloud": Source("Debian 13's kernel for clouds", "linux-image-cloud-amd64", ("trixie",), boots=False),
    "newest-cloud": Source("Debian sid's kernel for clouds", "linux-image-cloud-amd64", ("sid",), boots=False),
    "12-backports": Source("Debian 12's backported kernel", "linux-image-amd64", ("bookworm-backports",), boots=False),
    "13-backports": Source("Debian 13's backported kernel", "linux-image-amd64", ("trixie-backports",), boots=False),
    "6.1-arm64": Source("Debian 12's kernel for arm64", "linux-image-arm64", ("bookworm",), boots=False),
    "6.12-arm64": Source("Debian 13's kernel for arm64", "linux-image-arm64", ("trixie",), boots=False),
    "newest-arm64": Source("Debian sid's kernel for arm64", "linux-image-arm64", ("sid",), boots=False),
    "5.10": Source("Debian 11's kernel", "linux-image-amd64", ("bullseye",),
                   unsupported="task storage is Linux 5.11's"),
}
NAMES = [name for name, source in KERNELS.items() if source.boots]
CI = ["stock", "rt", "newest"]  # what CI boots
# The modules that the guest needs to see the host's files. It loads the other modules from there.
FIRST_MODULES = ["virtio_pci", "virtio_blk", "9pnet_virtio", "9p", "overlay", "crc32c_generic", "ext4"]


class Kernel:
    """An unpacked kernel: `folder` has its packages' files. It boots here only with `modules`."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        # Since Debian 14, the image and the configuration are among the modules.
        self.image = next(iter([*folder.glob("boot/vmlinuz-*"), *folder.glob("lib/modules/*/vmlinuz")]))
        self.release = self.image.name.removeprefix("vmlinuz-")
        if self.image.name == "vmlinuz":
            self.release = self.image.parent.name
        self.modules = folder / "lib/modules" / self.release

    def configuration(self):
        places = [self.folder / f"boot/config-{self.release}", self.modules / "config"]
        return next(place for place in places if place.exists()).read_text().splitlines()


def prepare(name):
    """The Kernel of this name, fetched and unpacked if necessary. Raises Missing."""
    if not KERNELS[name].boots:
        return prepare_image(name)
    if KERNELS[name].built and not is_ready(CACHE / "kernels" / name):
        raise Missing(f"kernel {name} has not been built: run tests/vm/build_kernel")
    return checked(name, unpacked(name, CACHE / "kernels" / name, whole=True))


def prepare_image(name, fetch=True):
    """Like prepare(), for the image and the configuration alone. Without `fetch`, raises Missing
    instead of fetching."""
    whole, folder = CACHE / "kernels" / name, CACHE / "images" / name
    if is_ready(whole):
        return Kernel(name, whole)
    if KERNELS[name].built:
        raise Missing(f"kernel {name} has not been built: run tests/vm/build_kernel")
    if is_ready(folder):  # without the lock, which another user may own
        return checked(name, Kernel(name, folder))
    if not fetch:
        raise Missing("not fetched")
    return checked(name, unpacked(name, folder, whole=False))


def is_ready(folder):
    return (folder / "ready").exists()


def checked(name, kernel):
    wanted = KERNELS[name].configuration
    configuration = kernel.configuration() if wanted else []
    for option in wanted:
        if option not in configuration:
            raise Missing(f"{kernel.release} is built without {option}")
    return kernel


def unpacked(name, folder, whole):
    with packages.alone(folder):
        if not is_ready(folder):
            source, downloads = KERNELS[name], CACHE / "packages" / name
            files = packages.fetch_kernel(CACHE, downloads, source.package, source.suites, source.architecture, whole)
            unpack(files, folder, whole)
            if whole or not source.boots:
                shutil.rmtree(downloads)
    return Kernel(name, folder)


def unpack(files, folder, whole):
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    (packages.unpack if whole else packages.unpack_image)(files, part)
    # Since Debian 13 a package has its modules under /usr.
    if not (part / "lib").exists():
        (part / "lib").symlink_to("usr/lib")
    if whole:
        run("busybox", "depmod", "-b", part, Kernel("", part).release)
    (part / "ready").touch()
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)


def load_order(kernel):
    """The paths of FIRST_MODULES and dependencies, in the order of loading, without built-ins."""
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


def module_bytes(path):
    """The bytes of a module, uncompressed for busybox's insmod."""
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dcq", path], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout
    opens = {".xz": lzma.open, ".gz": gzip.open}.get(path.suffix, open)
    with opens(path, "rb") as file:
        return file.read()


def make_initramfs(kernel, path):
    """Makes an initramfs of busybox, our init, and the modules for the host's files."""
    root = path.with_suffix(".dir")
    shutil.rmtree(root, ignore_errors=True)
    for folder in ("bin", "dev", "proc", "host", "disk", "root", "modules"):
        (root / folder).mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), root / "bin/busybox")
    shutil.copy(SOURCE / "tests/vm/init", root / "init")
    for number, module in enumerate(load_order(kernel)):
        name = pathlib.Path(module).name
        (root / f"modules/{number:02}-{name[:name.index('.ko')]}.ko").write_bytes(module_bytes(kernel.modules / module))
    files = "\n".join(str(file.relative_to(root)) for file in [root, *sorted(root.rglob("*"))])
    archive = subprocess.run(["cpio", "--create", "--format=newc", "--quiet", "--owner=0:0"], cwd=root, check=True,
                             input=files.encode(), stdout=subprocess.PIPE).stdout
    path.write_bytes(gzip.compress(archive, 1))
    shutil.rmtree(root)
