# SPDX-License-Identifier: BSD-3-Clause
"""What a virtual machine boots: a kernel of this system, with the modules by which it sees the host's files."""

from __future__ import annotations

import lzma
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from nodewise.base.errors import UnavailableError
from nodewise.base.frozen import dataclass
from nodewise.base.native import native_path

#: Names another kernel; its modules are looked for below lib/modules, next to the folder that it lies in.
KERNEL_VARIABLE = "NODEWISE_GUEST_KERNEL"
_PACKAGE = "linux-image-amd64"


@dataclass(frozen=True)
class GuestKernel:
    """A kernel's file, and the folder of its modules."""

    file: Path
    modules: Path


def find_kernel(environment: Mapping[str, str] | None = None) -> GuestKernel:
    """The kernel that NODEWISE_GUEST_KERNEL names, this system's own, or the newest below /boot. Raises UnavailableError."""
    variables = os.environ if environment is None else environment
    named = variables.get(KERNEL_VARIABLE)
    for file in guest_kernels(named):
        version = file.name.partition("-")[2]
        modules = file.parent.parent / "lib" / "modules" / version
        if file.is_file() and modules.is_dir():
            return GuestKernel(file, modules)
    where = f"{named}, which {KERNEL_VARIABLE} names," if named else "/boot"
    raise UnavailableError(
        f"a virtual machine needs a kernel with its modules, and {where} has none",
        f"apt-get install {_PACKAGE}, or unpack that package and name its boot/vmlinuz-… by {KERNEL_VARIABLE}",
    )


def _name_of(path: Path | str) -> str:
    return Path(path).name.partition(".")[0].replace("-", "_")


def guest_kernels(named: str | None = None) -> list[Path]:
    """The files that a guest's kernel is looked for in, in that order: the one that is named, or this system's own and those below /boot."""
    if named:
        return [Path(named)]
    return [Path(f"/boot/vmlinuz-{os.uname().release}"), *sorted(Path("/boot").glob("vmlinuz-*"))[::-1]]


@lru_cache(maxsize=4)
def _modules_below(folder: Path) -> dict[str, Path]:
    return {_name_of(path): path for path in folder.rglob("*.ko*")}


def _content(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(data)
    if path.suffix != ".ko":
        raise UnavailableError(
            f"the module {path} is compressed in a way that is not read here", "unpack it next to it"
        )
    return data


def _built_in(kernel: GuestKernel) -> set[str]:
    listed = kernel.modules / "modules.builtin"
    return {_name_of(line) for line in listed.read_text().splitlines()} if listed.is_file() else set()


def has_module(kernel: GuestKernel, name: str) -> bool:
    """Whether a kernel has a module of that name, built in or not."""
    return name in _modules_below(kernel.modules) or name in _built_in(kernel)


@lru_cache(maxsize=8)
def modules_for(kernel: GuestKernel, names: tuple[str, ...]) -> dict[str, bytes]:
    """The modules of these names with those that they need, in the order in which they are loaded; none that is built in.

    Raises UnavailableError for one that this kernel has not.
    """
    there = _modules_below(kernel.modules)
    built_in = _built_in(kernel)
    found: dict[str, bytes] = {}

    def take(name: str) -> None:
        name = name.replace("-", "_")
        if name in found or name in built_in:
            return
        if name not in there:
            raise UnavailableError(
                f"the kernel {kernel.file} has no module {name}, which a guest needs here",
                f"take another kernel, as that of {_PACKAGE}, by {KERNEL_VARIABLE}",
            )
        data = _content(there[name])
        # read from the module itself: a package that is only unpacked has no modules.dep
        depends = re.search(rb"\0depends=([^\0]*)\0", data)
        for need in filter(None, depends[1].decode().split(",") if depends else []):
            take(need)
        found[name] = data

    for name in names:
        take(name)
    return found


@lru_cache(maxsize=4)
def initrd(kernel: GuestKernel, names: tuple[str, ...]) -> bytes:
    """A first file system (cpio, format newc) with these modules, and nodewise-isolate as its first process.

    Raises UnavailableError.
    """
    modules = modules_for(kernel, names)
    files = {
        "init": native_path("nodewise-isolate").read_bytes(),
        "modules/order": "".join(f"{name}.ko\n" for name in modules).encode(),
        **{f"modules/{name}.ko": data for name, data in modules.items()},
    }
    folders = ("dev", "proc", "sys", "modules", "host", "wire")
    archive = bytearray()
    entries = [(name, 0o40755, b"") for name in folders] + [(name, 0o100755, data) for name, data in files.items()]
    for number, (name, mode, data) in enumerate(entries, 1):
        _add(archive, number, name, mode, data)
    # a console, for what the first process says before it has mounted anything
    _add(archive, len(entries) + 1, "dev/console", 0o20600, b"", device=(5, 1))
    _add(archive, 0, "TRAILER!!!", 0, b"")
    return bytes(archive)


def _add(archive: bytearray, number: int, name: str, mode: int, data: bytes, device: tuple[int, int] = (0, 0)) -> None:
    """One entry: thirteen numbers in hexadecimal, the name and the data, each padded to four bytes (cpio(5))."""
    path = name.encode() + b"\0"
    numbers = (number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(path), 0)
    for part in (b"070701" + b"".join(b"%08x" % n for n in numbers) + path, data):
        archive.extend(part + b"\0" * (-len(part) % 4))
