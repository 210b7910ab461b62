# SPDX-License-Identifier: BSD-3-Clause
"""How much of a program's code its unwind tables describe (`.eh_frame`, as the Linux Standard Base has it)."""

from __future__ import annotations

import struct

from nodewise.base.elf import Elf

#: More entries than this are not read: a program that has them was compiled with tables.
_MOST = 200_000
#: Encodings of where a function begins that compilers write: four bytes or eight, counted from where they stand or from nothing.
_FORMS = {0x1B: "iI", 0x1C: "qQ", 0x03: "II", 0x0B: "iI", 0x04: "QQ"}


def has_tables(elf: Elf) -> bool:
    """Whether at least half of the code has unwind tables: the C runtime's few are there in every program. Raises InputError."""
    if ".debug_frame" in elf.sections():
        return True
    text, frames = elf.section(".text"), elf.section(".eh_frame")
    return text is not None and frames is not None and 2 * _covered(elf, text, frames) >= text[2]


def _covered(elf: Elf, text: tuple[int, bytes, int], frames: tuple[int, bytes, int]) -> int:
    """The bytes of code with tables, counted until they are half of it."""
    address, data, _ = frames
    order = "<" if elf.little else ">"
    found: int = 0
    at: int = 0
    for _ in range(_MOST):
        if at + 8 > len(data):
            return found
        length, owner = struct.unpack_from(f"{order}II", data, at)
        # the end, or one of the long form, which no compiler writes
        if length < 4 or length == 0xFFFFFFFF:
            return found
        if owner:
            kind = _encoding(data, at + 4 - owner)
            form = _FORMS.get(kind, "QQ" if elf.bits == 64 else "II")
            if at + 8 + struct.calcsize(order + form) > len(data):
                return found
            begin, size = struct.unpack_from(order + form, data, at + 8)
            begin += address + at + 8 if kind & 0x70 == 0x10 else 0
            found += int(max(0, min(begin + size, text[0] + text[2]) - max(begin, text[0])))
            if 2 * found >= text[2]:
                return found
        at += 4 + length
    return text[2]


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
