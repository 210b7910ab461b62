# SPDX-License-Identifier: BSD-3-Clause
"""/proc/PID/numa_maps (proc_pid_numa_maps(5)): which NUMA nodes a process's pages are on, and by what policy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.late import late

_LINE = late(r"([0-9a-f]{1,16}) (weighted interleave:\S+|\S+(?: \(many\))?(?::\S+)?)((?: .*)?)")
_PAGES = late(r"N(\d{1,6})=(\d{1,18})")
_NUMBER = late(r"(anon|dirty|mapped|kernelpagesize_kB)=(\d{1,18})")


@dataclass(frozen=True)
class Mapping:
    """A mapping: its policy in the kernel's words, what it is (`heap`, `stack`, `file`, `anonymous`), pages by node."""

    address: int
    policy: str
    kind: str
    file: str = ""
    page_bytes: int = 4096
    huge: bool = False
    anonymous: int = 0
    dirty: int = 0
    pages: dict[int, int] = field(default_factory=dict)

    @property
    def bytes_by_node(self) -> dict[int, int]:
        """How many bytes of it are on each node."""
        return {node: pages * self.page_bytes for node, pages in self.pages.items()}


def read_numa_maps(text: str) -> list[Mapping]:
    """Read a whole file. Raises InputError with the line that cannot be read."""
    return [_mapping(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]


def _mapping(number: int, line: str) -> Mapping:
    match = _LINE.fullmatch(line.rstrip())
    if match is None:
        raise InputError(f"numa_maps, line {number}: not a mapping: {line[:80]!r}")
    words = match[3].split()
    numbers = {m[1]: int(m[2]) for m in map(_NUMBER.fullmatch, words) if m}
    file = next((w.removeprefix("file=") for w in words if w.startswith("file=")), "")
    kind = next((w for w in ("heap", "stack") if w in words), "file" if file else "anonymous")
    return Mapping(
        address=int(match[1], 16),
        policy=match[2],
        kind=kind,
        file=file,
        page_bytes=numbers.get("kernelpagesize_kB", 4) * 1024,
        huge="huge" in words,
        anonymous=numbers.get("anon", 0),
        dirty=numbers.get("dirty", 0),
        pages={int(m[1]): int(m[2]) for m in map(_PAGES.fullmatch, words) if m},
    )


def bytes_by_node(mappings: Iterable[Mapping], private: bool = False) -> dict[int, int]:
    """How many bytes are on each node; with `private` only of what is no file."""
    found: dict[int, int] = {}
    for mapping in mappings:
        if not (private and mapping.kind == "file"):
            for node, count in mapping.bytes_by_node.items():
                found[node] = found.get(node, 0) + count
    return dict(sorted(found.items()))
