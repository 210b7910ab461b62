# SPDX-License-Identifier: BSD-3-Clause
"""Kind: a kind of isolation, by what its runtime is given to start a program; and the registry that finds kinds."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from nodewise.base.errors import InputError, UnavailableError
from nodewise.base.frozen import dataclass
from nodewise.base.meant import meant
from nodewise.base.registry import Registry

#: What of a start's words is put in when it is started: see `native/isolation/spec.h`.
PROGRAM, SELF, CWD, SCRATCH, ID = "{program}", "{self}", "{cwd}", "{scratch}", "{id}"

#: Where the kernel is set: what root writes there inside would hold for the whole system, and stay.
KERNEL_PLACES = (
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
    "/proc/acpi",
    "/proc/scsi",
    "/proc/mtrr",
)


@dataclass(frozen=True)
class Volume:
    """A folder or file of this system that is seen inside, at the same path."""

    path: str
    writable: bool


@dataclass(frozen=True)
class Request:
    """What a program is to be isolated with: its `volumes`, whether it may use the `network`, the `way` of its kind.

    `runtime` is the path of the kind's first program, `memory` is in bytes (0: as the kind says), `processors` those that the
    program is held to (None: all), `environment` what it inherits. `root` is the image of a mapped root (empty: this system's
    files); for it, `program` and `cwd` are the program's file and the directory that it runs in.
    """

    runtime: str
    way: str
    volumes: tuple[Volume, ...] = ()
    network: bool = False
    memory: int = 0
    processors: tuple[int, ...] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    root: str = ""
    program: str = ""
    cwd: str = "/"


@dataclass(frozen=True)
class Start:
    """How nodewise-isolate starts a program: the runtime's `words`, among them `{program}`, or a `config` for an OCI runtime.

    With `scratch` the runtime gets mounts and processes that end with it, a folder in memory `{scratch}`, and below it as
    `rootfs` this system's files, read-only; `hidden` are mounts that it does not see. A guest has an `initrd`, and `guest` is what it is told.
    """

    words: tuple[str, ...]
    scratch: bool = False
    config: Mapping[str, Any] | None = None
    hidden: tuple[str, ...] = ()
    initrd: bytes = b""
    guest: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Way:
    """One of the ways in which a kind works: a platform, an accelerator. Times of an `emulated` one mean nothing.

    `missing` says why it cannot be on this system, None where it may.
    """

    name: str
    emulated: bool = False
    missing: Callable[[], str | None] = lambda: None


def _no_need() -> str | None:
    return None


@dataclass(frozen=True)
class Kind:
    """A kind of isolation: its `title` in words, the `programs` that it needs and the Debian `package` that brings them.

    `start` makes a start of a request; None where nothing isolates. `ways` are tried in their order, and the first that
    starts a program is taken. `missing` says what is not there besides programs. `traits` are names of what it does
    differently: `guest` has a kernel of its own, and the root of a `mapped` one may be an image that its kernel maps.
    """

    name: str
    title: str
    programs: tuple[str, ...]
    package: str
    start: Callable[[Request], Start] | None
    ways: tuple[Way, ...] = (Way(""),)
    missing: Callable[[], str | None] = _no_need
    guest: bool = False
    mapped: bool = False

    def runtime(self, path: str | None = None) -> str:
        """The path of its first program, where all are on PATH (`path`). Raises UnavailableError, which names the package."""
        found = [shutil.which(name, path=search_path(path)) for name in self.programs]
        for name, file in zip(self.programs, found, strict=True):
            if file is None:
                remedy = f"apt-get install {self.package}" if self.package else "see docs/isolation.md"
                raise UnavailableError(f"{self.name}: there is no program {name} here", remedy)
        return found[0] or "" if found else ""

    def way(self, name: str) -> Way:
        """Its way of that name. Raises InputError."""
        for one in self.ways:
            if one.name == name:
                return one
        known = ", ".join(one.name for one in self.ways if one.name) or "none"
        raise InputError(f"{self.name} has no way {name!r}", f"its ways are: {known}")


def search_path(path: str | None = None) -> str:
    """Where programs of runtimes are looked for: PATH (`path`), and where systems keep root's programs."""
    return f"{os.environ.get('PATH', os.defpath) if path is None else path}:/usr/sbin:/sbin"


def _wrong(kind: Kind, others: Mapping[str, Kind]) -> str | None:
    del others
    if not re.fullmatch(r"[a-z][a-z0-9-]*", kind.name):
        return "its name is no word of small letters, digits and hyphens"
    return None if kind.ways else "it has no way to start a program"


_KINDS: Registry[Kind] = Registry(
    Kind, "kind of isolation", "nodewise.isolation.kinds", "KIND", "nodewise.isolation", "docs/isolation.md", _wrong
)


def all_kinds() -> dict[str, Kind]:
    """The kinds by name. Raises InputError where one that a package brings cannot be had."""
    return _KINDS.all()


def kind_of(name: str) -> Kind:
    """The kind of that name. Raises InputError."""
    kinds = all_kinds()
    if name not in kinds:
        raise InputError(
            f"there is no kind of isolation {name!r}{meant(name, kinds)}", f"the kinds are: {', '.join(sorted(kinds))}"
        )
    return kinds[name]
