# SPDX-License-Identifier: BSD-3-Clause
"""Names of nodes as people write many of them: `n[001-128,200],login1`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from nodewise.base.errors import InputError

_MOST = 200_000
_PART = re.compile(r"[^\[\],\s]*(?:\[[\d,-]+\][^\[\],\s]*)?", re.ASCII)


def expand(text: str) -> list[str]:
    """The names, in order. Raises InputError for what is no list of names, or more than 200 000."""
    found: list[str] = []
    at = 0
    while at <= len(text):
        match = _PART.match(text, at)
        end = match.end() if match else at
        if not match or end == at or (end < len(text) and text[end] != ","):
            raise InputError(
                f"not a list of nodes: {text[:80]!r}",
                "write it such as n[001-128],login1: one range in a name, without steps",
            )
        found += _expanded(match[0], text)
        if len(found) > _MOST:
            raise InputError(f"more than {_MOST} nodes: {text[:80]!r}")
        at = end + 1
    return found


def _expanded(part: str, text: str) -> list[str]:
    before, bracket, rest = part.partition("[")
    if not bracket:
        return [part]
    inside, _, after = rest.partition("]")
    names = []
    for piece in inside.split(","):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", piece, re.ASCII)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if last - first >= _MOST:
            raise InputError(f"more than {_MOST} nodes: {piece!r} in {text[:80]!r}")
        if match is None or last < first:
            raise InputError(f"not a list of nodes: {piece!r} in {text[:80]!r}", "write it such as n[001-128]")
        names += [f"{before}{n:0{len(match[1])}d}{after}" for n in range(first, last + 1)]
    return names


def fold(names: Iterable[str]) -> str:
    """The same list, short: numbers at the end of names that begin alike as ranges."""
    groups: dict[tuple[str, int], list[int]] = {}
    plain: list[str] = []
    found = [(name, re.fullmatch(r"(.*?)(\d{1,9})", name)) for name in sorted(set(names))]
    filled = {(m[1], len(m[2])) for _, m in found if m and _is_filled(m[2])}
    for name, match in found:
        if match:
            # numbers of another width are other names, but for those that were never filled up
            width = len(match[2]) if (match[1], len(match[2])) in filled else 0
            groups.setdefault((match[1], width), []).append(int(match[2]))
        else:
            plain.append(name)
    for (before, width), numbers in groups.items():
        runs: list[list[int]] = []
        for n in sorted(numbers):
            if runs and n == runs[-1][1] + 1 and (not width or len(str(n)) <= width):
                runs[-1][1] = n
            else:
                runs.append([n, n])
        shown = ",".join(f"{a:0{width}d}" if a == b else f"{a:0{width}d}-{b:0{width}d}" for a, b in runs)
        one = len(runs) == 1 and runs[0][0] == runs[0][1]
        plain.append(f"{before}{shown}" if one else f"{before}[{shown}]")
    return ",".join(sorted(plain))


def _is_filled(number: str) -> bool:
    return len(number) > 1 and number.startswith("0")


def without_domain(node: str) -> str:
    """The name by which nodes are held against each other; of an address all of it."""
    return node if node.replace(".", "").isdecimal() else node.partition(".")[0].lower()
