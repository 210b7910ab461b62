# SPDX-License-Identifier: BSD-3-Clause
"""zlib-ng as Python's package brings it, where the system has no library of it."""

from __future__ import annotations

import resource
import time
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from nodewise.studies.compress.files import block_sizes
from nodewise.studies.compress.levels import LEVELS, WHEEL
from nodewise.studies.peers import absent

_RAW = -15


def contenders() -> Mapping[str, str | None]:
    """Every level."""
    return dict.fromkeys((f"{WHEEL}-{level}" for level in LEVELS["zlib-ng"]), absent("zlib-ng"))


def prepare(inputs: Mapping[str, Any], point: Mapping[str, str], threads: int) -> SimpleNamespace:
    """The same blocks as those of the native part; one thread."""
    sizes = block_sizes(point)
    corpus = inputs["corpus"]
    if sum(sizes) != corpus.size:
        raise RuntimeError("the files are read window by window: give a larger window")
    ends = np.cumsum(sizes)
    blocks = [corpus[end - size : end].tobytes() for end, size in zip(ends, sizes, strict=True)]
    return SimpleNamespace(blocks=blocks, level=int(point["contender"].rpartition("-")[2]))


def run(state: SimpleNamespace) -> None:
    """Pack and unpack every block, each under a clock."""
    from zlib_ng import zlib_ng

    state.packing = state.unpacking = 0.0
    state.packed, state.back = 0, []
    before = resource.getrusage(resource.RUSAGE_THREAD)
    for block in state.blocks:
        begin = time.perf_counter()
        packed = zlib_ng.compress(block, state.level, wbits=_RAW)
        middle = time.perf_counter()
        back = zlib_ng.decompress(packed, wbits=_RAW, bufsize=max(1, len(block)))
        end = time.perf_counter()
        state.packing += middle - begin
        state.unpacking += end - middle
        state.packed += len(packed)
        state.back.append(back)
    after = resource.getrusage(resource.RUSAGE_THREAD)
    state.user, state.system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime


def outputs(state: SimpleNamespace) -> dict[str, Any]:
    """What came back."""
    return {"back": np.frombuffer(b"".join(state.back), np.uint8)}


def metrics(state: SimpleNamespace) -> dict[str, float]:
    """As the native part tells them; `seconds` is that of packing alone."""
    size = sum(map(len, state.blocks))
    told = {"ratio": size / state.packed, "compress_mbs": size / state.packing * 1e-6, "user_s": state.user}
    return {**told, "seconds": state.packing, "decompress_mbs": size / state.unpacking * 1e-6, "system_s": state.system}
