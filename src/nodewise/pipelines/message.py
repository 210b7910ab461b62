# SPDX-License-Identifier: BSD-3-Clause
"""What stands before the content of a message: whose it is, which one, how it is compressed, and its checksum."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import struct
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from nodewise.base.frozen import dataclass

if TYPE_CHECKING:
    from typing_extensions import Buffer

#: Whether it is the last one (1) or stands for one that was dropped (2), codec, algorithm, sender on the channel, source, its number there, checksum.
_FORM = struct.Struct("<BBBxIIxxxxQ32s8x")
SIZE = _FORM.size
_LEVELS: dict[str, Callable[[Buffer, int], bytes]] = {
    "gzip": lambda data, level: gzip.compress(memoryview(data), level, mtime=0),
    "bz2": bz2.compress,
    "xz": lambda data, level: lzma.compress(data, preset=level),
}
_BACK: dict[str, Callable[[Buffer], bytes]] = {
    "gzip": gzip.decompress,
    "bz2": bz2.decompress,
    "xz": lzma.decompress,
}
_DIGESTS: dict[str, Callable[[Buffer], bytes]] = {
    "crc32": lambda data: zlib.crc32(data).to_bytes(4, "big"),
    "sha256": lambda data: hashlib.sha256(data).digest(),
    "blake2b": lambda data: hashlib.blake2b(data, digest_size=32).digest(),
}
_CODECS, _ALGORITHMS = ("", *_LEVELS), ("", *_DIGESTS)


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before the content; `origin` is the instance that made the message, `digest` of the content as it was there.

    `dropped`: there is no content, since a device on the way had nothing to send on; whoever keeps an order is to wait no longer.
    """

    origin: int
    sequence: int
    codec: str = ""
    algorithm: str = ""
    digest: bytes = b""
    last: bool = False
    dropped: bool = False

    def packed(self, sender: int) -> bytes:
        """As it is sent by the `sender`-th instance on a channel."""
        return _FORM.pack(
            2 if self.dropped else self.last,
            _CODECS.index(self.codec),
            _ALGORITHMS.index(self.algorithm),
            sender,
            self.origin,
            self.sequence,
            self.digest,
        )


def unpack(data: Buffer) -> tuple[Head, int]:
    """What stands before the content, and who sent it on the channel."""
    last, codec, algorithm, sender, origin, sequence, digest = _FORM.unpack_from(data)
    name = _ALGORITHMS[algorithm]
    length = {"": 0, "crc32": 4}.get(name, 32)
    return Head(origin, sequence, _CODECS[codec], name, digest[:length], last == 1, last == 2), sender


def compress(data: Buffer, codec: str, level: int) -> bytes:
    """The content compressed: a stream that the usual tool reads, also where several are joined."""
    return _LEVELS[codec](data, level)


def decompress(data: Buffer, codec: str) -> Buffer:
    """The content as it was."""
    return _BACK[codec](data) if codec else data


def digest(data: Buffer, algorithm: str) -> bytes:
    """The checksum of a content."""
    return _DIGESTS[algorithm](data)
