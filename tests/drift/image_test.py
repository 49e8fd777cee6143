#!/usr/bin/env python3
"""tools/drift/image.py finds the types in every form of a kernel image."""
import gzip
import lzma
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

SOURCE = pathlib.Path(os.environ.get("OVERDUE_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
sys.dont_write_bytecode = True
sys.path[:0] = [str(SOURCE / "tools"), str(pathlib.Path(__file__).resolve().parent)]
from drift import image
import kernel_types

TYPES = kernel_types.Types().data()
# A false beginning of types stands before the real types, and other data behind them.
KERNEL = os.urandom(4096) + TYPES[:12] + os.urandom(4096) + TYPES + os.urandom(4096)


def zstd(data):
    return subprocess.run(["zstd", "-q"], input=data, check=True, stdout=subprocess.PIPE).stdout


def bz_image(payload):
    """The form that x86 boots: a payload behind two sectors of setup, then its unpacked size."""
    head = bytearray(3 * 512)
    head[0x1F1] = 2
    head[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", head, 0x248, 64, len(payload) + 4)
    return bytes(head) + bytes(64) + payload + struct.pack("<I", len(KERNEL)) + os.urandom(512)


def efi_image(payload):
    """The form that EFI boots on arm64."""
    return b"MZ\0\0zimg" + struct.pack("<II", 64, len(payload)) + bytes(48) + payload + os.urandom(64)


class Image(unittest.TestCase):
    def finds(self, packed):
        self.assertEqual(image.find_btf(image.unpacked(packed)), TYPES)

    def test_x86(self):
        for pack in (gzip.compress, lambda data: lzma.compress(data, check=lzma.CHECK_CRC32), zstd):
            self.finds(bz_image(pack(KERNEL)))

    def test_arm64(self):
        self.finds(KERNEL)
        self.finds(gzip.compress(KERNEL))
        self.finds(efi_image(gzip.compress(KERNEL)))

    def test_without_types(self):
        with self.assertRaises(image.NoBtf):
            image.find_btf(image.unpacked(bz_image(gzip.compress(KERNEL[:4000]))))

    def test_they_are_kept_until_the_image_changes(self):
        with tempfile.TemporaryDirectory() as folder:
            kernel = types.SimpleNamespace(folder=pathlib.Path(folder), image=pathlib.Path(folder) / "vmlinuz")
            kernel.image.write_bytes(KERNEL)
            self.assertEqual(image.btf_of(kernel), TYPES)
            kernel.image.write_bytes(b"")
            os.utime(kernel.image, (1, 1))
            self.assertEqual(image.btf_of(kernel), TYPES)
            os.utime(kernel.image)
            with self.assertRaises(image.NoBtf):
                image.btf_of(kernel)

    def test_without_the_right_to_keep_them(self):
        with tempfile.TemporaryDirectory() as folder:
            kernel = types.SimpleNamespace(folder=pathlib.Path(folder), image=pathlib.Path(folder) / "vmlinuz")
            kernel.image.write_bytes(KERNEL)
            with unittest.mock.patch.object(pathlib.Path, "write_bytes", side_effect=PermissionError):
                self.assertEqual(image.btf_of(kernel), TYPES)
            self.assertEqual(list(kernel.folder.iterdir()), [kernel.image])


if __name__ == "__main__":
    unittest.main()
