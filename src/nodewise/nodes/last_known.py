# SPDX-License-Identifier: BSD-3-Clause
"""The last snapshot of one node in a history of many, found from its end: what a prologue needs while a job waits."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from nodewise.base.bounded_json import open_regular
from nodewise.base.errors import InputError
from nodewise.nodes.asking.silence import silence_of
from nodewise.nodes.fleet import Fleet, Unreadable
from nodewise.nodes.streams import LONGEST, parsed, snapshots_in

_CHUNK = 4 << 20


def read_last(fleet: Fleet, folder: Path, node: str, patience_s: float | None = None) -> bool:
    """Take over the node's last snapshot from a history: the file of its name, else the last file and line that has one.

    False where `patience_s` ended before all was looked through. Raises InputError where the folder cannot be read.
    """
    end = None if patience_s is None else time.monotonic() + patience_s
    try:
        names = sorted(p.name for p in folder.iterdir() if p.suffix in (".json", ".jsonl") and p.name[0] != ".")
    except OSError as problem:
        raise InputError(f"cannot read {folder}: {problem.strerror}") from problem
    own = [n for n in (f"{node}.json", f"{node}.jsonl") if n in names]
    for name in (*own, *(n for n in reversed(names) if n not in own)):
        if end is not None and time.monotonic() > end:
            return False
        path = folder / name
        try:
            with open_regular(path) as file:
                found = _last_in(file, node, end)
        except (OSError, ValueError):
            found = None
        if found is not None:
            fleet.add(found, str(path))
            return True
        if name in own:
            fleet.unreadable.append(Unreadable(str(path), "no snapshot of this node is in it"))
            fleet.unreadable_count += 1
    return True


def _last_in(file: BinaryIO, node: str, end: float | None) -> dict[str, Any] | None:
    """The last snapshot of the node in an open file; None where there is none, or the time is over."""
    quoted = f'"{node}"'.encode()
    line = file.readline(LONGEST).strip()
    if line[:1] in (b"{", b"[") and (line[:1], line[-1:]) != (b"{", b"}"):
        # of snapshots over several lines or in a list the end alone cannot be read
        file.seek(0)
        last = None
        for number, (_, data) in enumerate(snapshots_in(file, "")):
            if isinstance(data, dict) and data["node"] == node and not silence_of(data):
                last = data
            if end is not None and number % 16 == 0 and time.monotonic() > end:
                return None
        return last
    for lines in _backwards(file, quoted):
        for line in lines:
            if quoted in line and len(line) <= LONGEST and (found := _of_node(line, node)):
                return found
        if end is not None and time.monotonic() > end:
            return None
    return None


def _of_node(text: bytes, node: str) -> dict[str, Any] | None:
    data = parsed(text)
    return data if isinstance(data, dict) and not silence_of(data) and data["node"] == node else None


def _backwards(file: BinaryIO, wanted: bytes) -> Iterator[list[bytes]]:
    """The lines of a file from its end, in blocks; a block that holds nothing of what is wanted comes empty."""
    at, rest = os.fstat(file.fileno()).st_size, b""
    while at > 0:
        size = min(_CHUNK, at)
        at -= size
        block = os.pread(file.fileno(), size, at) + rest
        first = block.find(b"\n")
        if first < 0 and at > 0:
            # of a line that is too long no more is kept than shows that it is
            rest = block[-LONGEST - 1 :]
            yield []
            continue
        start = 0 if at == 0 else first + 1
        rest = block[:start]
        yield block[start:].split(b"\n")[::-1] if block.find(wanted, start) >= 0 else []
