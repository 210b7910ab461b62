# SPDX-License-Identifier: BSD-3-Clause
"""Whether a program is done sooner that writes to a fast filesystem first, from where its file is copied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: What a copy writes by: whole blocks of bytes, the fastest of these that was measured.
_COPIES = ("write-whole", "c-unformatted-whole", "fortran-stream-whole")
#: Text of 17 digits is at most so many times as long as the bytes of a double: 26 characters a line for 8 bytes.
_TEXT = 26 / 8
#: What gains less is not worth a step more.
_WORTH = 1.1


@dataclass(frozen=True)
class Staged:
    """One way of writing, straight to a folder and by way of another: seconds, the copy among them."""

    variant: str
    straight: float
    through: float

    @property
    def gain(self) -> float:
        """How many times as fast the way round is."""
        return self.straight / self.through


def stage(slow: Mapping[str, float], fast: Mapping[str, float]) -> list[Staged]:
    """The ways that gain by a tenth or more, the largest gain first, from the seconds that each took on both filesystems.

    The copy is taken to last as long as writing the whole file as bytes to the slow one, after the program has ended.
    """
    copies = [slow[name] for name in _COPIES if name in slow]
    if not copies:
        return []
    found = []
    for name in slow.keys() & fast.keys():
        if name.startswith(("direct", "uring")):
            continue  # who writes so has chosen the disk
        longer = _TEXT if "-formatted-" in name else 1.0
        found.append(Staged(name, slow[name], fast[name] + longer * min(copies)))
    return sorted((s for s in found if s.gain >= _WORTH), key=lambda s: (-s.gain, s.variant))


def stage_lines(folders: Sequence[tuple[str, Mapping[str, float]]], what: str) -> list[str]:
    """For each folder the other one through which most is gained, in words; `what` names the size of the times."""
    lines = []
    for here, slow in folders:
        ways = [
            (found[0], there, len(found)) for there, fast in folders if there != here and (found := stage(slow, fast))
        ]
        if not ways:
            continue
        best, there, count = max(ways, key=lambda way: way[0].gain)
        rest = count - 1
        others = f" ({rest} other way{'s gain' if rest > 1 else ' gains'}, too)" if rest else ""
        lines.append(
            f"{here}: for {what}, {best.variant} is {best.gain:.1f} times as fast by way of {there}, copied with cp when it is "
            f"done{others}: worked out from both folders' times"
        )
    return lines
