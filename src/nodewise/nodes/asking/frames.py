# SPDX-License-Identifier: BSD-3-Clause
"""A text in short lines, each with its own sum, so that it comes whole through launchers that cut long lines and mix those of many nodes.

Slurm passes on 1 024 bytes at a time and Open MPI 4 096, of whichever node has some: lines of 512 bytes are never cut by that.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterator
from dataclasses import field

from nodewise.base.frozen import dataclass

_LINE, _PIECE = 512, 360
_MOST_PIECES = 1000
#: What a text may have: that of a snapshot, see `fleet.LONGEST`.
_MOST_BYTES = 1 << 20
_FRAME = re.compile(
    r"nw1 (?P<node>[\w.-]{1,64}) (?P<sum>[0-9a-f]{8}) (?P<at>\d{1,4})/(?P<of>\d{1,4}) (?P<piece>[A-Za-z0-9+/=]{1,360}) (?P<own>[0-9a-f]{8})"
)


def framed(node: str, text: str) -> Iterator[bytes]:
    """The lines, each of which is to be written by one call. `node` is a name of at most 64 letters, digits, points and dashes."""
    data = text.encode()
    packed = base64.b64encode(zlib.compress(data, 9)).decode()
    pieces = [packed[i : i + _PIECE] for i in range(0, len(packed), _PIECE)]
    for at, piece in enumerate(pieces):
        line = f"nw1 {node} {zlib.crc32(data):08x} {at}/{len(pieces)} {piece}"
        yield f"{line} {zlib.crc32(line.encode()):08x}".ljust(_LINE - 1).encode() + b"\n"


@dataclass
class Frames:
    """Puts texts together again from lines in any order."""

    _parts: dict[tuple[str, str, int], dict[int, str]] = field(default_factory=dict)

    def take(self, line: str) -> tuple[str, str | None] | None:
        """Take in a line, whatever stands before or behind it.

        None where it is no frame; else who it is of, and the text where that is whole now. A frame or a text whose sum is
        wrong is none.
        """
        match = _FRAME.search(line)
        if match is None or f"{zlib.crc32(line[match.start() : match.end('piece')].encode()):08x}" != match["own"]:
            return None
        node, at, of = match["node"], int(match["at"]), int(match["of"])
        if not at < of <= _MOST_PIECES:
            return None
        key = (node, match["sum"], of)
        parts = self._parts.setdefault(key, {})
        parts[at] = match["piece"]
        if len(parts) < of:
            return node, None
        del self._parts[key]
        return node, _unpacked("".join(parts[i] for i in range(of)), match["sum"])


def _unpacked(packed: str, wanted: str) -> str | None:
    try:
        opened = zlib.decompressobj()
        data = opened.decompress(base64.b64decode(packed, validate=True), _MOST_BYTES)
        if not opened.eof or f"{zlib.crc32(data):08x}" != wanted:
            return None
        return data.decode()
    except (ValueError, zlib.error):
        return None
