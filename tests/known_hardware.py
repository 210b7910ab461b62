# SPDX-License-Identifier: BSD-3-Clause
"""The hardware of this machine and of synthetic ones, found by hwloc once for a process: it takes a hundredth of a second, and tests ask
thousands of times. And what perf may record here, which takes it a second to try.

What may be used of it, and all that can change, is read each time as ever; real starts (tests/started.py says which) find all anew.
"""

import contextlib
from dataclasses import replace
from functools import cache, lru_cache

from nodewise.base.errors import NodewiseError
from nodewise.machine import sources
from nodewise.machine.hwloc import Hardware
from nodewise.profile import perf

_anew = sources._load_hardware
_samples = cache(perf._samples)


@cache
def _here() -> Hardware:
    return _anew(sources.Source("live"))


#: Each test has a few of its own; the largest take some megabytes.
_made_up = lru_cache(64)(_anew)


def _load_hardware(source: sources.Source, devices: bool = True) -> Hardware:
    if source.kind == "synthetic":
        return _made_up(source)
    if source.kind != "live":
        return _anew(source)
    return _here() if devices else replace(_here(), devices=())


def remember() -> None:
    """From now on in this process, and in those that it forks."""
    sources._load_hardware = _load_hardware
    perf._samples = _samples


def remember_perf() -> None:
    """What a profile asks, before processes are forked that would each ask it anew."""
    with contextlib.suppress(NodewiseError):
        perf.find_perf()
