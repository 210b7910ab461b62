# SPDX-License-Identifier: BSD-3-Clause
"""Reader: values of files below a root, and for each that is not there the reason."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from nodewise.base.bounded_json import open_regular
from nodewise.base.processors import format_processors
from nodewise.machine.files import first_match

T = TypeVar("T")
CPU = "sys/devices/system/cpu"
#: No fact that is compared is longer; what is has gone wrong.
LONGEST = 200
_READ_MOST, _CHUNK = 4 << 20, 64 << 10


class Reader:
    """Reads below `root`; what it cannot read it notes in `absent`, by the fact that was asked for."""

    def __init__(self, root: Path):
        self.root = root
        self.absent: dict[str, str] = {}

    @property
    def live(self) -> bool:
        """Whether this is the running system and no copy."""
        return self.root == Path("/")

    def lack(self, fact: str, reason: str) -> None:
        """Note why a fact is not there."""
        self.absent[fact] = reason

    def cut(self, fact: str, several: Sequence[T], most: int) -> Sequence[T]:
        """The first of several; where there are more it is noted."""
        if len(several) > most:
            self.lack(f"{fact}.*", f"{most} of {len(several)} are kept")
        return several[:most]

    def raw(self, file: str | Path) -> tuple[str | None, str]:
        """The text of a file, and where there is none the reason."""
        try:
            # a pipe or a device in the place of a file would be waited for, or never end
            with open_regular(self.root / file) as opened:
                # the kernel sets memory aside for as much as is asked for, and refuses megabytes
                data = b"".join(iter(lambda: opened.read(_CHUNK), b"")) if self.live else opened.read(_READ_MOST)
        except ValueError as problem:
            return None, f"{file}: {problem}"
        except OSError as problem:
            words = {errno.ENOENT: "not there", errno.EACCES: "may not be read", errno.EPERM: "may not be read"}
            return None, f"{file}: {words.get(problem.errno or 0) or os.strerror(problem.errno or 0).lower()}"
        return data.decode(errors="replace").replace("\0", " ").strip(), ""

    def text(self, fact: str, *files: str) -> str | None:
        """The first of the files that has a text, shortened; noted as absent where none has."""
        reasons = []
        for file in files:
            text, reason = self.raw(file)
            if text:
                return " ".join(text.split())[:LONGEST]
            reasons.append(reason or f"{file}: empty")
        self.lack(fact, reasons[0])
        return None

    def number(self, fact: str, file: str, scale: int = 1) -> int | None:
        """The one whole number of a file, times `scale`."""
        text, reason = self.raw(file)
        try:
            if text and len(text) > LONGEST:
                raise ValueError(text[:LONGEST])
            if text:
                return int(text, 0) * scale
            self.lack(fact, reason or f"{file}: empty")
        except ValueError:
            self.lack(fact, f"{file}: no number")
        return None

    def match(self, fact: str, file: str, pattern: str) -> str | None:
        """The first group of the first line of a file that matches."""
        text, reason = self.raw(file)
        found = None if text is None else first_match(pattern, text)
        if not found:
            self.lack(fact, reason or f"{file}: does not say")
            return None
        return " ".join(found.split())[:LONGEST]

    def folders(self, fact: str, folder: str, pattern: str = "*") -> list[Path] | None:
        """What lies in a folder, sorted; None, noted as absent, where there is no such folder."""
        at = self.root / folder
        try:
            if not at.is_dir():
                self.lack(fact, f"{folder}: not there")
                return None
            return sorted(at.glob(pattern))
        except OSError as problem:
            self.lack(fact, f"{folder}: {os.strerror(problem.errno or 0).lower()}")
            return None


def by_value(values: Mapping[str, Iterable[int]]) -> dict[str, str]:
    """Processors by value, as lists."""
    return {value: format_processors(which) for value, which in values.items()}


def whole(text: str | None) -> int | None:
    """A text as a whole number, in the notation that it has; None where it is none."""
    try:
        return None if text is None else int(text.split()[0], 0)
    except (ValueError, IndexError):
        return None
