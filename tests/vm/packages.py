"""Debian's packages of kernels, and of an emulator: fetched and unpacked, never installed.

apt-get fetches and checks them from the mirror of this machine's apt. The laboratory has its own
lists under build/vm/apt, a folder for each suite and architecture, which the machine's apt does not
use. No step needs root.
"""
import contextlib
import fcntl
import platform
import re
import shutil
import subprocess
import tarfile

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
WITH_SECURITY = ["bullseye", "bookworm", "trixie"]
# Parts of one kernel since Debian 14; before, linux-image-RELEASE has all of them.
PARTS = ["image", "base", "binary", "modules"]
IMAGE = re.compile(r"\./(boot/(vmlinuz|config)-.+|usr/lib/modules/[^/]+/(vmlinuz|config))")


class Missing(Exception):
    """A kernel or a tool is not available here, for the reason in the text. Not a failed test."""


def run(*command, cwd="/", check=True):
    try:
        return subprocess.run(list(map(str, command)), cwd=cwd, check=check, text=True, stdin=subprocess.DEVNULL,
                              capture_output=True)
    except FileNotFoundError:
        raise Missing(f"{command[0]} is not installed: run tools/setup vm") from None
    except subprocess.CalledProcessError as error:
        raise Missing(f"{' '.join(map(str, command))}: {error.stderr.strip()}") from None


def debian_mirror():
    """(Mirror of this machine's own release, mirror of its security updates or "")."""
    listing = run("apt-get", "indextargets", "--format", "$(RELEASE) $(SITE)", "Created-By: Packages", check=False)
    sites = dict(line.split(maxsplit=1) for line in listing.stdout.splitlines() if " " in line)
    try:
        codename = platform.freedesktop_os_release().get("VERSION_CODENAME")
    except OSError:
        codename = None
    for release in (codename, "sid", "unstable", "testing"):  # sid calls itself by the next release's name
        if release in sites:
            return sites[release], sites.get(f"{release}-security", "")
    raise Missing("this machine's apt names no mirror of its own release")


@contextlib.contextmanager
def alone(folder):
    """Locks `folder` against other processes during a `with` block."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(folder.name + ".lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Lists:
    """The package lists of one suite for one architecture."""

    def __init__(self, cache, suite, architecture):
        self.suite, self.folder = suite, cache / "apt" / f"{suite}-{architecture}"
        for part in ("lists/partial", "cache/archives/partial"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        options = {
            "APT::Architecture": architecture, "APT::Architectures": architecture, "APT::Sandbox::User": "root",
            "Dir::Etc::sourcelist": self.folder / "sources.list", "Dir::Etc::sourceparts": "-",
            "Dir::Etc::preferences": "/dev/null", "Dir::Etc::preferencesparts": "-", "Dir::State": self.folder,
            "Dir::State::status": "/dev/null", "Dir::Cache": self.folder / "cache", "Acquire::Languages": "none",
            "Acquire::http::Timeout": 20, "Acquire::Retries": 1,
            # On a mirror that is no longer updated, sid's Release file has expired.
            "Acquire::Check-Valid-Until": "false",
        }
        self.options = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]

    def update(self):
        """Updates the lists. Returns apt-get's last error."""
        mirror, security = debian_mirror()
        lines = [f"deb [signed-by={KEYRING}] {mirror} {self.suite} main\n"]
        if security and self.suite in WITH_SECURITY:
            lines.append(f"deb [signed-by={KEYRING}] {security} {self.suite}-security main\n")
        (self.folder / "sources.list").write_text("".join(lines))
        return last_error(run("apt-get", *self.options, "update", "--quiet", check=False))

    def depends(self, package):
        listing = run("apt-cache", *self.options, "depends", "--important", package, check=False).stdout.splitlines()
        return [line.split()[-1] for line in listing if line.strip().startswith("Depends: ")]

    def packages_of(self, meta_package, modules):
        """The packages behind one like linux-image-amd64; the part `modules` only on request."""
        images = [name for name in self.depends(meta_package) if name.startswith("linux-image-")]
        if not images:
            return []
        release = images[0].removeprefix("linux-image-")
        parts = [f"linux-{part}-{release}" for part in PARTS if part != "modules" or modules]
        return [images[0], *(name for name in self.depends(images[0]) if name in parts)]


def last_error(result):
    errors = [line for line in result.stderr.splitlines() if line.startswith("E: ")]
    return errors[-1].removeprefix("E: ").strip(" :") if errors else ""


def fetch_kernel(cache, folder, meta_package, suites, architecture="amd64", modules=True):
    """Downloads the newest kernel of a kind, like fetch(). Returns the package files."""
    return fetch(cache, folder, [meta_package], suites, architecture,
                 lambda lists: lists.packages_of(meta_package, modules))


def fetch(cache, folder, names, suites, architecture="amd64", choose=None):
    """Downloads packages into `folder` from the first of `suites` that has them: the packages
    `names`, or those that `choose` picks from the Lists. Existing files are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    reasons = []
    for suite in suites:
        lists, problem = Lists(cache, suite, architecture), ""
        for newer in (False, True):
            with alone(lists.folder):
                problem = lists.update() if newer else ""
                packages = choose(lists) if choose else names
            if packages:
                result = run("apt-get", *lists.options, "download", "--quiet", *packages, cwd=folder, check=False)
                if result.returncode == 0:
                    return [newest(folder, package) for package in packages]
                problem = last_error(result)
        reasons.append(f"apt-get cannot download {names[0]} of {suite}" + (f": {problem}" if problem else ""))
    raise Missing("; ".join(reasons))


def newest(folder, package):
    return max(folder.glob(f"{package}_*.deb"), key=lambda path: path.stat().st_mtime)


def unpack(packages, folder):
    """Unpacks all packages into one folder."""
    for package in packages:
        run("dpkg", "-x", package, folder)


def unpack_image(packages, folder):
    """Unpacks only the image and its configuration."""
    for package in packages:
        with subprocess.Popen(["dpkg", "--fsys-tarfile", package], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as process:
            copy_image(process.stdout, folder)
            process.kill()  # hundreds of megabytes of modules follow the first files


def copy_image(stream, folder):
    found = False
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            if IMAGE.fullmatch(member.name) and member.isreg():
                path = folder / member.name
                path.parent.mkdir(parents=True, exist_ok=True)
                with open(path, "wb") as file:
                    shutil.copyfileobj(archive.extractfile(member), file)
                found = True
            elif found and not member.name.startswith("./boot/"):
                return
