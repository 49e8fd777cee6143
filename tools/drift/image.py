"""Finds the BTF in a kernel's image: x86's bzImage, arm64's Image, plain, compressed, or one that EFI unpacks."""
import contextlib
import lzma
import struct
import subprocess
import zlib

HEADER = struct.pack("<HBBI", 0xEB9F, 1, 0, 24)[:4]


class NoBtf(Exception):
    """The image has no types, or has them in an unknown form."""


def btf_of(kernel):
    """The BTF of an unpacked kernel, kept beside the kernel once found."""
    kept = kernel.folder / "vmlinux.btf"
    if kept.exists() and kept.stat().st_mtime >= kernel.image.stat().st_mtime:
        return kept.read_bytes()
    found = find_btf(unpacked(kernel.image.read_bytes()))
    with contextlib.suppress(OSError):  # another user has fetched the kernel: nothing is kept
        part = kept.with_suffix(".part")
        part.write_bytes(found)
        part.rename(kept)
    return found


def unpacked(image):
    """The image as it unpacks itself at boot."""
    if image[0x202:0x206] == b"HdrS":
        sectors, = struct.unpack_from("<B", image, 0x1F1)
        offset, length = struct.unpack_from("<II", image, 0x248)
        begin = ((sectors or 4) + 1) * 512 + offset
        return decompressed(image[begin:begin + length - 4])  # the last four: unpacked size
    if image[:2] == b"MZ" and image[4:8] == b"zimg":
        offset, length = struct.unpack_from("<II", image, 8)
        return decompressed(image[offset:offset + length])
    return decompressed(image)


def decompressed(data):
    if data.startswith(b"\x1f\x8b"):
        return zlib.decompressobj(31).decompress(data)
    if data.startswith(b"\xfd7zXZ\0"):
        return lzma.LZMADecompressor().decompress(data)
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        return piped("zstd", data)
    if data.startswith((b"\x02\x21\x4c\x18", b"\x04\x22\x4d\x18")):
        return piped("lz4", data)
    return data


def piped(program, data):
    try:
        return subprocess.run([program, "-dcq"], input=data, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              check=False).stdout
    except FileNotFoundError:
        raise NoBtf(f"{program} is not installed: run tools/setup test") from None


def find_btf(data):
    """The longest part with the form of BTF."""
    found, position = b"", -1
    while (position := data.find(HEADER, position + 1)) >= 0:
        if len(data) < position + 24:
            break
        header, types, types_size, strings, strings_size = struct.unpack_from("<IIIII", data, position + 4)
        length = header + strings + strings_size
        if header < 24 or types or strings < types_size or length > len(data) - position:
            continue
        if data[position + header + strings] == 0 and length > len(found):
            found = data[position:position + length]
    if not found:
        raise NoBtf("the image has no BTF that we can find")
    return found
