# SPDX-License-Identifier: BSD-3-Clause
"""How much of a program's code its unwind tables describe (`.eh_frame`, as the Linux Standard Base has it)."""

from __future__ import annotations

import struct

from nodewise.base.elf import Elf
from nodewise.base.frozen import dataclass

#: More entries than this are not read: a program that has them was compiled with tables.
_MOST = 200_000
#: Encodings of where a function begins that compilers write: four bytes or eight, counted from where they stand or from nothing.
_FORMS = {0x1B: "iI", 0x1C: "qQ", 0x03: "II", 0x0B: "iI", 0x04: "QQ"}


#: What the C runtime adds to every program and library without tables is less (deregister_tm_clones, frame_dummy and others: 200 bytes), in bytes.
_STUBS = 256


@dataclass(frozen=True)
class Tables:
    """The bytes of code that unwind tables describe, and of code that has none; without the C runtime's, which is the same in all programs."""

    covered: int
    bare: int

    def __add__(self, other: Tables) -> Tables:
        return Tables(self.covered + other.covered, self.bare + other.bare)

    @property
    def enough(self) -> bool:
        """Whether at least half of the code has them."""
        return bool(self.covered) and self.covered >= self.bare


def tables_of(elf: Elf) -> Tables:
    """What a program or a library has of them. Raises InputError."""
    text, frames = elf.section(".text"), elf.section(".eh_frame")
    size = 0 if text is None else text[2]
    if ".debug_frame" in elf.sections():
        return Tables(max(1, size), 0)
    covered, start = (0, 0) if text is None or frames is None else _covered(elf, text, frames)
    return Tables(covered, max(0, size - covered - start - _STUBS))


def _covered(elf: Elf, text: tuple[int, bytes, int], frames: tuple[int, bytes, int]) -> tuple[int, int]:
    """The bytes of code with tables, apart from those of `_start`, which come second."""
    address, data, _ = frames
    start: int = 0
    order = "<" if elf.little else ">"
    found: int = 0
    at: int = 0
    for _ in range(_MOST):
        if at + 8 > len(data):
            break
        length, owner = struct.unpack_from(f"{order}II", data, at)
        # the end, or one of the long form, which no compiler writes
        if length < 4 or length == 0xFFFFFFFF:
            break
        if owner:
            kind = _encoding(data, at + 4 - owner)
            form = _FORMS.get(kind, "QQ" if elf.bits == 64 else "II")
            if at + 8 + struct.calcsize(order + form) > len(data):
                break
            begin, size = struct.unpack_from(order + form, data, at + 8)
            begin += address + at + 8 if kind & 0x70 == 0x10 else 0
            inside = int(max(0, min(begin + size, text[0] + text[2]) - max(begin, text[0])))
            if begin == elf.entry:
                start = inside
            else:
                found += inside
        at += 4 + length
    else:
        found = text[2]
    return found, start


def _encoding(data: bytes, at: int) -> int:
    """How the entries of a common one say where they begin; 0, an address, where it does not say."""
    end = data.find(b"\0", at + 9, at + 17) if at >= 0 else -1
    if end < 0 or not data[at + 9 : end].startswith(b"z"):
        return 0
    names, at = data[at + 10 : end], end + 1
    # two factors, the register of the return address, and the length of what follows, each of any number of bytes
    for _ in range(4):
        while at < len(data) and data[at] & 0x80:
            at += 1
        at += 1
    for name in names:
        if name == ord("R"):
            return data[at] if at < len(data) else 0
        at += {ord("L"): 1, ord("P"): 5}.get(name, 0)
    return 0
