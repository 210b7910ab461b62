# SPDX-License-Identifier: BSD-3-Clause
"""Isolation: what of this system a program sees when it runs in a container or in a virtual machine, as users write it."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.shapes import ShapeError

#: The kind that isolates nothing.
PROCESS = "process"
#: Metrics of an isolated run, in seconds: from the runtime's start to the program's, and from its end to the runtime's.
STARTUP, TEARDOWN = "startup_s", "teardown_s"
_SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
#: They are the kernel's, and inside they are its own.
_KERNELS = ("/proc", "/dev", "/sys")
_WHY = {
    errno.ENOENT: "is not there",
    errno.ENOTDIR: "is not there",
    errno.ELOOP: "is a symbolic link that leads round in a circle",
}
_EXAMPLE = "write it such as bwrap, or runc,volume=/data,network=host"


@dataclass(frozen=True)
class Isolation:
    """A kind of isolation with its options.

    `volumes` are folders of this system by their whole path, which are seen inside and may be written there (`/data:ro`: only
    read); `network` lets the program use this system's. `way` is one of the kind's ways of working (empty: the first that
    works here); `memory` is how much a virtual machine has, in bytes (0: as its kind says), and `root` an image by its whole
    path that a virtual machine's root is mapped from (empty: this system's files).
    """

    kind: str
    volumes: tuple[str, ...] = ()
    network: bool = False
    way: str = ""
    memory: int = 0
    root: str = ""

    @property
    def text(self) -> str:
        """As it is written on a command line: `read_isolation` reads it back."""
        words = [self.kind, *(f"volume={path}" for path in self.volumes)]
        words += ["network=host"] if self.network else []
        words += [f"way={self.way}"] if self.way else []
        words += [f"memory={self.memory}"] if self.memory else []
        words += [f"root={self.root}"] if self.root else []
        return ",".join(words)


def volume_of(text: str) -> tuple[Path, bool]:
    """The folder of a volume, and whether it may be written."""
    return (Path(text[:-3]), False) if text.endswith(":ro") else (Path(text), True)


def read_isolation(text: str, folder: Path | None = None) -> Isolation | None:
    """The isolation that a text names; None for `process`. Paths are relative to `folder` (None: the current one).

    Raises InputError for one that cannot be read; whether there is such a kind is not asked.
    """
    kind, *options = text.split(",")
    if not re.fullmatch(r"[a-z][a-z0-9-]*", kind):
        raise InputError(f"--isolation {text!r} names no kind", _EXAMPLE)
    volumes: list[str] = []
    network, way, memory, root = False, "", 0, ""
    given: set[str] = set()
    for option in options:
        name, _, value = option.partition("=")
        if name in given:
            raise InputError(f"--isolation {kind}: {name} is given more than once", f"leave out all but one {name}=…")
        given |= {name} - {"volume"}
        if name == "volume" and value:
            volume = _volume(value, folder or Path.cwd())
            if volume_of(volume)[0] in (volume_of(one)[0] for one in volumes):
                raise InputError(
                    f"--isolation {kind}: the volume {volume_of(volume)[0]} is given more than once",
                    "leave out all but one",
                )
            volumes.append(volume)
        elif name == "network" and value in ("host", "none"):
            network = value == "host"
        elif name == "way" and value:
            way = value
        elif name == "memory" and (match := re.fullmatch(r"([1-9]\d*)([KMG]?)", value)):
            memory = int(match[1]) * _SIZES[match[2]]
        elif name == "root" and value:
            root = _image(value, folder or Path.cwd())
        else:
            raise InputError(
                f"--isolation {kind}: {option!r} is no option",
                "the options are: volume=DIR, volume=DIR:ro, network=host, network=none, way=NAME, memory=2G, root=IMAGE",
            )
    if kind == PROCESS:
        if options:
            raise InputError(f"--isolation {text}: a plain process sees all of the system", "leave out its options")
        return None
    return Isolation(kind, tuple(volumes), network, way, memory, root)


def _image(text: str, folder: Path) -> str:
    hint = "name a file with an ext4 or erofs file system in it"
    whole = _whole(folder / text, f"the image {text}", hint)
    if not whole.is_file():
        raise InputError(f"--isolation: the image {text} is no file", hint)
    return str(whole)


def _whole(path: Path, named: str, hint: str) -> Path:
    """The whole path of what is there, through links. Raises InputError with what is `named` so."""
    # Path.resolve raises RuntimeError for links that lead in a circle, in some versions
    whole = Path(os.path.realpath(path))
    try:
        whole.stat()
    except OSError as problem:
        why = _WHY.get(problem.errno or 0, f"cannot be read: {problem.strerror}")
        raise InputError(f"--isolation: {named} {why}", hint) from None
    return whole


def _volume(text: str, folder: Path) -> str:
    path, writable = volume_of(text)
    whole = _whole(folder / path, f"the volume {path}", "name a folder or a file of this system")
    if "," in str(whole) or str(whole) == "/":
        raise InputError(
            f"--isolation: {whole} cannot be a volume", "name a folder below /, without a comma in its name"
        )
    if any(whole.is_relative_to(place) for place in _KERNELS):
        raise InputError(
            f"--isolation: {whole} cannot be a volume: /proc, /dev and /sys are the kernel's, and there are others inside",
            "name a folder of files",
        )
    return str(whole) if writable else f"{whole}:ro"


def check_isolation(found: Isolation | None) -> None:
    """Raises ShapeError for what no `Isolation.text` can be."""
    if found is not None and not re.fullmatch(r"[a-z][a-z0-9-]*", found.kind):
        raise ShapeError("isolation.kind", f"there is no kind {found.kind!r}")
