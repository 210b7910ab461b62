# SPDX-License-Identifier: BSD-3-Clause
"""zlib-ng as Python's package brings it, where the system has no library of it."""

from __future__ import annotations

import resource
import time
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from nodewise.studies.compress.files import windows_of
from nodewise.studies.compress.levels import LEVELS, WHEEL
from nodewise.studies.peers import absent

_RAW = -15


def contenders() -> Mapping[str, str | None]:
    """Every level."""
    return dict.fromkeys((f"{WHEEL}-{level}" for level in LEVELS["zlib-ng"]), absent("zlib-ng"))


def prepare(inputs: Mapping[str, Any], point: Mapping[str, str], threads: int) -> SimpleNamespace:
    """The same blocks as those of the native part, of which the worker gives the first window; one thread."""
    first, *more = windows_of(point)
    corpus = inputs["corpus"]
    ends = np.cumsum([block.size for block in first])
    if ends[-1] > corpus.size:
        raise RuntimeError("the files changed between two rows: measure when nothing writes to them")
    held = [corpus[end - block.size : end].tobytes() for end, block in zip(ends, first, strict=True)]
    return SimpleNamespace(held=held, more=more, level=int(point["contender"].rpartition("-")[2]), room=corpus.size)


def run(state: SimpleNamespace) -> None:
    """Pack and unpack every block, each under a clock; the other windows are read and compared outside of it."""
    state.packing = state.unpacking = state.user = state.system = 0.0
    state.size = state.packed = 0
    state.back = _trips(state, state.held)
    for window in state.more:
        blocks = [block.read() for block in window]
        if _trips(state, blocks) != blocks:
            raise RuntimeError("wrong result: what was unpacked is not what was packed")


def _trips(state: SimpleNamespace, blocks: Sequence[bytes]) -> list[bytes]:
    """What came back."""
    from zlib_ng import zlib_ng

    every = []
    before = resource.getrusage(resource.RUSAGE_THREAD)
    for block in blocks:
        begin = time.perf_counter()
        packed = zlib_ng.compress(block, state.level, wbits=_RAW)
        middle = time.perf_counter()
        back = zlib_ng.decompress(packed, wbits=_RAW, bufsize=max(1, len(block)))
        end = time.perf_counter()
        state.packing += middle - begin
        state.unpacking += end - middle
        state.size += len(block)
        state.packed += len(packed)
        every.append(back)
    after = resource.getrusage(resource.RUSAGE_THREAD)
    state.user += after.ru_utime - before.ru_utime
    state.system += after.ru_stime - before.ru_stime
    return every


def outputs(state: SimpleNamespace) -> dict[str, Any]:
    """What came back of the first window, with room for the largest one."""
    back = np.zeros(state.room, np.uint8)
    found = np.frombuffer(b"".join(state.back), np.uint8)
    back[: found.size] = found[: state.room]
    return {"back": back}


def metrics(state: SimpleNamespace) -> dict[str, float]:
    """As the native part tells them; `seconds` is that of packing alone."""
    speeds = {"compress_mbs": state.size / state.packing * 1e-6, "decompress_mbs": state.size / state.unpacking * 1e-6}
    used = {"seconds": state.packing, "user_s": state.user, "system_s": state.system}
    return {"ratio": state.size / state.packed, **speeds, **used}
