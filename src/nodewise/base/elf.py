# SPDX-License-Identifier: BSD-3-Clause
"""ELF: what a program's file says of itself (System V ABI, chapters 4 and 5): linkage, libraries, imported functions."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cached_property
from mmap import mmap

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass

_INTERPRETER, _DYNAMIC, _LOAD = 3, 2, 1
_NEEDED, _STRINGS, _SYMBOLS, _STRINGS_SIZE, _RPATH, _RUNPATH, _HASH, _GNU_HASH = 1, 5, 6, 10, 15, 29, 4, 0x6FFFFEF5
_FUNCTION = 2
#: More symbols than any program's dynamic table has.
_MOST_SYMBOLS = 1 << 22


@dataclass(frozen=True)
class _Segment:
    kind: int
    offset: int
    address: int
    size: int


class Elf:
    """An ELF file's bytes, read or mapped. Raises InputError where they are not one, or end too early."""

    def __init__(self, data: bytes | mmap):
        self._data = data
        if len(data) < 20 or data[:4] != b"\x7fELF" or data[4] not in (1, 2) or data[5] not in (1, 2):
            raise InputError("not an ELF file")
        self.bits = 32 * data[4]
        self.little = data[5] == 1
        self._order = "<" if data[5] == 1 else ">"
        #: The machine's number, such as 62 for x86-64 and 183 for AArch64.
        self.machine: int = self._read("H", 18)[0]

    def _read(self, layout: str, offset: int) -> tuple[int, ...]:
        try:
            return struct.unpack_from(self._order + layout, self._data, offset)
        except struct.error as problem:
            raise InputError("an ELF file that ends too early") from problem

    @cached_property
    def _segments(self) -> list[_Segment]:
        wide = self.bits == 64
        (start,) = self._read("Q" if wide else "I", 32 if wide else 28)
        size, count = self._read("HH", 54 if wide else 42)
        found = []
        for i in range(count):
            at = start + i * size
            if wide:
                kind, _, offset, address, _, length = self._read("IIQQQQ", at)
            else:
                kind, offset, address, _, length = self._read("IIIII", at)
            found.append(_Segment(kind, offset, address, length))
        return found

    def address(self, offset: int) -> int:
        """Where what is at an offset of the file lies in memory, before a loader moves it; what is in no segment lies where it is."""
        for s in self._segments:
            if s.kind == _LOAD and s.offset <= offset < s.offset + s.size:
                return s.address + offset - s.offset
        return offset

    @property
    def entry(self) -> int:
        """Where the system starts it; 0 of most libraries."""
        return self._read("Q" if self.bits == 64 else "I", 24)[0]

    @property
    def dynamic(self) -> bool:
        """Whether a loader starts it, which is what takes LD_PRELOAD; a static-pie has no interpreter either."""
        return any(s.kind == _INTERPRETER for s in self._segments)

    @property
    def interpreter(self) -> str:
        """The loader that starts it (PT_INTERP), such as /lib64/ld-linux-x86-64.so.2; empty where it needs none.

        Raises InputError where the name is cut off.
        """
        segment = next((s for s in self._segments if s.kind == _INTERPRETER), None)
        if segment is None:
            return ""
        text = self._data[segment.offset : segment.offset + segment.size]
        if not text.endswith(b"\0"):
            raise InputError("an ELF file without the loader that it names")
        return text[: text.index(b"\0")].decode(errors="replace")

    def sections(self) -> list[str]:
        """The names of its sections, such as `.symtab`; empty where their table was taken out."""
        wide = self.bits == 64
        (start,) = self._read("Q" if wide else "I", 40 if wide else 32)
        size, count, names_at = self._read("HHH", 58 if wide else 46)
        if not start or names_at >= count:
            return []
        heads = [self._read("IIQQQQ" if wide else "IIIIII", start + i * size) for i in range(count)]
        offset, length = heads[names_at][4:6]
        table = self._data[offset : offset + length]
        return [table[head[0] : table.find(b"\0", head[0])].decode(errors="replace") for head in heads]

    def section(self, name: str) -> tuple[int, bytes, int] | None:
        """A section's address, its bytes as far as the file has them, and its size; None where there is none of that name."""
        names = self.sections()
        if name not in names:
            return None
        wide = self.bits == 64
        (start,) = self._read("Q" if wide else "I", 40 if wide else 32)
        (width,) = self._read("H", 58 if wide else 46)
        head = self._read("IIQQQQ" if wide else "IIIIII", start + names.index(name) * width)
        address, offset, size = head[3:6]
        return address, self._data[offset : offset + size], size

    @cached_property
    def _entries(self) -> list[tuple[int, int]]:
        segment = next((s for s in self._segments if s.kind == _DYNAMIC), None)
        if segment is None:
            return []
        layout, width = ("QQ", 16) if self.bits == 64 else ("II", 8)
        found = []
        for at in range(segment.offset, min(segment.offset + segment.size, len(self._data)), width):
            tag, value = self._read(layout, at)
            if tag == 0:
                break
            found.append((tag, value))
        return found

    def _value(self, tag: int) -> int | None:
        return next((v for t, v in self._entries if t == tag), None)

    def _offset(self, address: int) -> int:
        for s in self._segments:
            if s.kind == _LOAD and s.address <= address < s.address + s.size:
                return s.offset + address - s.address
        raise InputError("an ELF file whose tables lie outside of it")

    def _string(self, index: int) -> str:
        table, size = self._value(_STRINGS), self._value(_STRINGS_SIZE)
        if table is None or size is None or index >= size:
            raise InputError("an ELF file without the names that it refers to")
        start = self._offset(table) + index
        end = self._data.find(b"\0", start)
        if end < 0:
            raise InputError("an ELF file that ends too early")
        return self._data[start:end].decode(errors="replace")

    @property
    def needed(self) -> list[str]:
        """The libraries that it names (DT_NEEDED), in order."""
        return [self._string(v) for t, v in self._entries if t == _NEEDED]

    @property
    def search(self) -> list[str]:
        """Where it has its libraries looked for (DT_RUNPATH or DT_RPATH), with $ORIGIN as written."""
        value = self._value(_RUNPATH) or self._value(_RPATH)
        return [] if value is None else [d for d in self._string(value).split(":") if d]

    def imports(self) -> Iterator[str]:
        """The names of functions and variables that it takes from its libraries."""
        for name, _, section, _, _ in self._symbols():
            if section == 0 and name:
                yield self._string(name)

    def functions(self) -> Iterator[tuple[int, int, str]]:
        """The functions that it gives to others: where each begins in the file, its size in bytes, its name."""
        for name, info, section, address, size in self._symbols():
            if section and info & 15 == _FUNCTION and size:
                yield self._offset(address), size, self._string(name)

    def _symbols(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Of each dynamic symbol the place of its name, its kind, section, address and size."""
        table = self._value(_SYMBOLS)
        if table is None:
            return
        start = self._offset(table)
        wide = self.bits == 64
        width, layout = (24, "IBBHQQ") if wide else (16, "IIIBBH")
        for i in range(self._symbol_count()):
            fields = self._read(layout, start + i * width)
            if wide:
                name, info, _, section, address, size = fields
            else:
                name, address, size, info, _, section = fields
            yield name, info, section, address, size

    def _symbol_count(self) -> int:
        """How many dynamic symbols there are, which only the hash tables show."""
        plain = self._value(_HASH)
        if plain is not None:
            return min(self._read("II", self._offset(plain))[1], _MOST_SYMBOLS)
        gnu = self._value(_GNU_HASH)
        if gnu is None:
            return 0
        at = self._offset(gnu)
        buckets, first, bloom = self._read("III", at)
        at += 16 + bloom * (self.bits // 8)
        if buckets > _MOST_SYMBOLS:
            raise InputError("an ELF file with a broken table of symbols")
        last = max(self._read(f"{buckets}I", at), default=0)
        if last < first:
            # only imports, which are not in the table, and stand before the first that is
            return first
        at += 4 * (buckets + last - first)
        while last < _MOST_SYMBOLS and not self._read("I", at)[0] & 1:
            last += 1
            at += 4
        return last + 1
