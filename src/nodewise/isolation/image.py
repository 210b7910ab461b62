# SPDX-License-Identifier: BSD-3-Clause
"""Images that a guest's root is mapped from (DAX): what lies in one, by its superblock, and how QEMU and the guest's kernel are told of it."""

from __future__ import annotations

import struct
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.units import format_bytes

#: The kernel maps such parts of memory (SUBSECTION_SIZE), and only blocks of a page's size.
ALIGNED = 2 << 20
_BLOCK = 4096
_SUPERBLOCK = 1024
_HEAD = 4096
#: linux/fs/ext4/ext4.h: a journal that was not written back.
_EXT4_MAGIC, _RECOVER = 0xEF53, 0x4
_EROFS_MAGIC = 0xE0F5E1E2
#: Where QEMU's microvm goes on with memory that does not fit below (hw/i386/microvm.c), and where that is.
_LOW, _HIGH = 3 << 30, 4 << 30
_GIB = 1 << 30


@dataclass(frozen=True)
class Image:
    """An image of so many bytes; `kind` is its file system, by the name that mount knows, and `options` those it is mounted with."""

    path: Path
    size: int
    kind: str
    options: str

    @property
    def modules(self) -> tuple[str, ...]:
        """What a guest's kernel needs for it, wherever the memory comes from; places that it lacks are laid over it."""
        return ("nd_pmem", self.kind, "overlay")


#: Of the file systems, by their names: how each is mounted so that it is mapped.
_OPTIONS = {"ext4": "dax,noload", "erofs": "dax=always"}
#: Taken along where a kernel has it: both ask for sums by a name that no module's list says.
WISHED = ("crc32c_generic",)


def read_image(path: Path) -> Image:
    """The image in a file. Raises InputError, which names the file, where a guest's kernel could not map it."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            size = file.seek(0, 2)
    except OSError as problem:
        raise InputError(f"the image {path} cannot be read: {problem.strerror}", "name a file of this system") from None
    kind, block, needed = _file_system(path, head)
    if block != _BLOCK:
        raise InputError(
            f"the image {path} has blocks of {block} bytes, and only blocks of a page ({_BLOCK}) are mapped",
            f"make it anew with such: mkfs.{kind} -b {_BLOCK} …",
        )
    if size < needed:
        raise InputError(f"the image {path} has {size} bytes, and its file system {needed}", "take a whole copy of it")
    if size % ALIGNED:
        raise InputError(
            f"the image {path} has {size} bytes, which is no multiple of {format_bytes(ALIGNED)}, by which memory is mapped",
            f"add what is missing: truncate -s %{ALIGNED >> 20}M {path}",
        )
    return Image(path, size, kind, _OPTIONS[kind])


def _file_system(path: Path, head: bytes) -> tuple[str, int, int]:
    """The kind of file system, the size of its blocks, and how many bytes it has in all."""
    block = head[_SUPERBLOCK:].ljust(_HEAD, b"\0")
    (magic,) = struct.unpack_from("<H", block, 56)
    if magic == _EXT4_MAGIC:
        blocks, log_size = struct.unpack_from("<4xI16xI", block)
        (incompatible,) = struct.unpack_from("<I", block, 96)
        if incompatible & _RECOVER:
            raise InputError(
                f"the image {path} was not unmounted well: its journal holds what its files do not", f"e2fsck -f {path}"
            )
        size = 1024 << min(log_size, 16)
        return "ext4", size, blocks * size
    (magic,) = struct.unpack_from("<I", block)
    if magic == _EROFS_MAGIC:
        size = 1 << min(block[12], 16)
        (blocks,) = struct.unpack_from("<I", block, 36)
        return "erofs", size, blocks * size
    raise InputError(
        f"the image {path} has no file system that a guest could map: neither ext4 nor erofs",
        "make one of a folder: mkfs.ext4 -b 4096 -d FOLDER IMAGE 512M, or mkfs.erofs IMAGE FOLDER",
    )


@dataclass(frozen=True)
class Mapped:
    """How a machine has an image in its memory: QEMU's `words`, the guest's `modules` for it, what its kernel is told, and what the machine has besides."""

    words: tuple[str, ...]
    modules: tuple[str, ...]
    line: str = ""
    machine: str = ""


def _backend(image: Image, place: str) -> str:
    # shared and only read: the pages are those of this system's page cache, whoever else maps them
    return f"memory-backend-file,id=image,mem-path={place},size={image.size},share=on,readonly=on"


def as_device(image: Image, place: str, memory: int) -> Mapped:
    """By virtio-pmem, of a machine whose memory may grow. `place` is the file for QEMU, `memory` what the guest has besides, in bytes."""
    # devices' memory begins at a multiple of 1 GiB
    most = memory + (image.size // _GIB + 2) * _GIB
    words = (
        *("-m", f"{memory >> 20}M,slots=1,maxmem={most >> 20}M"),
        *("-object", _backend(image, place), "-device", "virtio-pmem-pci,memdev=image"),
    )
    return Mapped(words, ("virtio_pmem",))


def as_memory(image: Image, place: str, memory: int, processors: int) -> Mapped:
    """As a second node of memory, of a machine whose memory cannot grow: its kernel is told that it lasts (memmap=, nd_e820).

    It lies above 4 GiB, so that the first node reaches up to there; the kernel uses no more of that than `memory`.
    """
    low = max(memory, _LOW)
    words = (
        *("-m", f"{(low + image.size) >> 20}M"),
        *("-object", f"memory-backend-ram,id=ram,size={low >> 20}M", "-object", _backend(image, place)),
        *("-numa", f"node,nodeid=0,memdev=ram,cpus=0-{processors - 1}", "-numa", "node,nodeid=1,memdev=image"),
    )
    limit = f" mem={memory >> 20}M" if memory < low else ""
    # without PCI the kernel never enters such memory among its resources (e820__reserve_resources_late), and so finds none
    return Mapped(words, ("nd_e820",), f"{limit} memmap={image.size >> 20}M!{_HIGH + low - _LOW:#x}", ",pcie=on")
