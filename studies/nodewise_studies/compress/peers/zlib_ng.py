# SPDX-License-Identifier: BSD-3-Clause
"""zlib-ng as Python's package brings it, where the system has no library of it.

The package's own functions would add making a stream and a growing buffer for each block; its file has the library's
functions, too, which are called here as the native part calls those of the others.
"""

from __future__ import annotations

import ctypes
import resource
import time
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from nodewise.studies.peers import absent

from ..files import windows_of
from ..levels import LEVELS, WHEEL

# without a header, the largest window; the memory and strategy that are usual
_RAW, _DEFLATED, _MEMORY, _USUAL = -15, 8, 8, 0
_FINISH, _END = 4, 1


class _Stream(ctypes.Structure):
    """zng_stream of the library's header."""

    _fields_ = (
        ("next_in", ctypes.c_void_p),
        ("avail_in", ctypes.c_uint32),
        ("total_in", ctypes.c_size_t),
        ("next_out", ctypes.c_void_p),
        ("avail_out", ctypes.c_uint32),
        ("total_out", ctypes.c_size_t),
        ("message", ctypes.c_char_p),
        ("state", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
        ("opaque", ctypes.c_void_p),
        ("data_type", ctypes.c_int),
        ("adler", ctypes.c_uint32),
        ("reserved", ctypes.c_ulong),
    )


def contenders() -> Mapping[str, str | None]:
    """Every level."""
    return dict.fromkeys((f"{WHEEL}-{level}" for level in LEVELS["zlib-ng"]), absent("zlib-ng"))


def prepare(inputs: Mapping[str, Any], point: Mapping[str, str], threads: int) -> SimpleNamespace:
    """The same blocks as those of the native part, of which the worker gives the first window; one thread."""
    from zlib_ng import zlib_ng

    library = ctypes.CDLL(zlib_ng.__file__)
    packing, unpacking = _Stream(), _Stream()
    level = int(point["contender"].rpartition("-")[2])
    made = library.zng_deflateInit2(ctypes.byref(packing), level, _DEFLATED, _RAW, _MEMORY, _USUAL)
    if made != 0 or library.zng_inflateInit2(ctypes.byref(unpacking), _RAW) != 0:
        raise RuntimeError(f"the library refuses level {level}")
    first, *more = windows_of(point)
    corpus = inputs["corpus"]
    if sum(block.size for block in first) > corpus.size:
        raise RuntimeError("the files changed between two rows: measure when nothing writes to them")
    largest = max(block.size for window in (first, *more) for block in window)
    # as the native part has it: level 1 may need 9 bits for a byte; touched here, not under the clock
    packed = np.ones(largest + largest // 7 + 1024, np.uint8)
    streams = SimpleNamespace(library=library, packing=packing, unpacking=unpacking, packed=packed)
    return SimpleNamespace(streams=streams, corpus=corpus, first=first, more=more, back=np.ones(corpus.size, np.uint8))


def run(state: SimpleNamespace) -> None:
    """Pack and unpack every block, each under a clock; the other windows are read and compared outside of it."""
    state.packing = state.unpacking = state.user = state.system = 0.0
    state.size = state.packed = 0
    state.back[:] = 0x5A
    _trips(state, state.corpus, [block.size for block in state.first], state.back)
    # so that no more than a block of them is in memory
    for block in (block for window in state.more for block in window):
        data, back = np.frombuffer(block.read(), np.uint8), np.ones(block.size, np.uint8)
        _trips(state, data, [block.size], back)
        if not np.array_equal(back, data):
            raise RuntimeError("wrong result: what was unpacked is not what was packed")


def _trips(state: SimpleNamespace, data: Any, sizes: Sequence[int], back: Any) -> None:
    streams = state.streams
    at = 0
    before = resource.getrusage(resource.RUSAGE_THREAD)
    for size in sizes:
        begin = time.perf_counter()
        packed = _through(
            streams.library, "deflate", streams.packing, (data, at, size), (streams.packed, 0, streams.packed.size)
        )
        middle = time.perf_counter()
        came = _through(streams.library, "inflate", streams.unpacking, (streams.packed, 0, packed), (back, at, size))
        end = time.perf_counter()
        if came != size:
            raise RuntimeError("wrong result: not as many bytes came back as were packed")
        state.packing += middle - begin
        state.unpacking += end - middle
        state.packed += packed
        at += size
    state.size += at
    after = resource.getrusage(resource.RUSAGE_THREAD)
    state.user += after.ru_utime - before.ru_utime
    state.system += after.ru_stime - before.ru_stime


def _through(
    library: Any, direction: str, stream: _Stream, source: tuple[Any, int, int], into: tuple[Any, int, int]
) -> int:
    """How many bytes came out. Arrays are given with where to begin and how many bytes."""
    getattr(library, f"zng_{direction}Reset")(ctypes.byref(stream))
    stream.next_in, stream.avail_in = source[0].ctypes.data + source[1], source[2]
    stream.next_out, stream.avail_out = into[0].ctypes.data + into[1], into[2]
    if getattr(library, f"zng_{direction}")(ctypes.byref(stream), _FINISH) != _END:
        raise RuntimeError(f"the library failed to {direction}")
    return int(stream.total_out)


def outputs(state: SimpleNamespace) -> dict[str, Any]:
    """What came back of the first window."""
    return {"back": state.back}


def metrics(state: SimpleNamespace) -> dict[str, float]:
    """As the native part reports them; `seconds` is that of packing alone."""
    speeds = {"compress_mbs": state.size / state.packing * 1e-6, "decompress_mbs": state.size / state.unpacking * 1e-6}
    used = {"seconds": state.packing, "user_s": state.user, "system_s": state.system}
    return {"ratio": state.size / state.packed, **speeds, **used}
