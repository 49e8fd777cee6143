#!/usr/bin/env python3
"""Kernel packages in all forms that Debian has used: the image's place, and the dependencies."""
import io
import lzma
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import types
import unittest
import unittest.mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import kernels
import packages

OLD = ["boot/config-6.1.0-1-amd64", "boot/vmlinuz-6.1.0-1-amd64", "lib/modules/6.1.0-1-amd64/kernel/a.ko"]
NEW = ["usr/lib/modules/7.2+deb14-amd64/config", "usr/lib/modules/7.2+deb14-amd64/vmlinuz",
       "usr/lib/modules/7.2+deb14-amd64/kernel/a.ko"]
DEPENDS = {
    "linux-image-amd64": ["linux-base-amd64", "linux-image-7.2+deb14-amd64"],
    "linux-image-7.2+deb14-amd64": ["dracut", "linux-base-7.2+deb14-amd64", "linux-binary-7.2+deb14-amd64",
                                    "linux-modules-7.2+deb14-amd64"],
    "linux-image-rt-amd64": ["linux-image-6.1.0-1-rt-amd64"],
    "linux-image-6.1.0-1-rt-amd64": ["kmod", "linux-base"],
}


def package(names):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name in names:
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(name)
            archive.addfile(member, io.BytesIO(name.encode()))
    stream.seek(0)
    return stream


class Layouts(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_image_and_configuration_in_boot(self):
        self.is_found(OLD, "6.1.0-1-amd64")

    def test_image_and_configuration_among_the_modules(self):
        (self.folder / "lib").symlink_to("usr/lib")
        self.is_found(NEW, "7.2+deb14-amd64")

    def is_found(self, names, release):
        packages.copy_image(package(names), self.folder)
        kernel = kernels.Kernel("any", self.folder)
        self.assertEqual(kernel.release, release)
        self.assertEqual(kernel.image.read_text(), names[1])
        self.assertEqual(kernel.configuration(), [names[0]])
        self.assertFalse((self.folder / names[2]).exists())

    def test_a_fetched_image_needs_no_right_to_write(self):
        folder = self.folder / "images/6.1-cloud"
        (folder / "boot").mkdir(parents=True)
        for name in ("ready", *OLD[:2]):
            (folder / name).touch()
        with unittest.mock.patch.object(kernels, "CACHE", self.folder), \
                unittest.mock.patch.object(packages, "alone", side_effect=PermissionError):
            self.assertEqual(kernels.prepare_image("6.1-cloud", fetch=True).release, "6.1.0-1-amd64")

    def test_a_module_is_as_insmod_takes_it(self):
        for name, data in {"a.ko": b"module", "a.ko.xz": lzma.compress(b"module"), "a.ko.zst": zstd(b"module")}.items():
            (self.folder / name).write_bytes(data)
            self.assertEqual(kernels.module_bytes(self.folder / name), b"module")


def zstd(data):
    return subprocess.run(["zstd", "-q"], input=data, check=True, stdout=subprocess.PIPE).stdout


class Parts(unittest.TestCase):
    def parts(self, meta_package, modules):
        lists = types.SimpleNamespace(depends=lambda name: DEPENDS.get(name, []))
        return packages.Lists.packages_of(lists, meta_package, modules)

    def test_of_one_package(self):
        self.assertEqual(self.parts("linux-image-rt-amd64", True), ["linux-image-6.1.0-1-rt-amd64"])

    def test_of_several(self):
        image, *others = DEPENDS["linux-image-7.2+deb14-amd64"]
        self.assertEqual(self.parts("linux-image-amd64", True), ["linux-image-7.2+deb14-amd64", *others])

    def test_for_the_types_alone_without_the_modules(self):
        self.assertNotIn("linux-modules-7.2+deb14-amd64", self.parts("linux-image-amd64", False))

    def test_of_none(self):
        self.assertEqual(self.parts("linux-image-riscv64", True), [])


class Table(unittest.TestCase):
    def test_a_kernel_is_built_or_has_a_suite(self):
        for name, source in kernels.KERNELS.items():
            self.assertNotEqual(source.built, bool(source.suites), name)
            self.assertTrue(source.what, name)

    def test_ci_boots_what_boots(self):
        self.assertLessEqual(set(kernels.CI), set(kernels.NAMES))


if __name__ == "__main__":
    unittest.main()
