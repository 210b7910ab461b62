# SPDX-License-Identifier: BSD-3-Clause
"""What limits a study on a machine: the rates that other studies measure, at the working set that the study has.

Data that stay in a cache are bound by that cache and not by memory. So a bandwidth is measured with as many bytes at work as
the study has, in the same blocks as its contenders; from twice the caches on it is memory's, which is the machine's own: large arrays take
long to make, so it is measured once and kept (`records.kept_limits`).
"""

from __future__ import annotations

from collections.abc import Mapping

from nodewise.base.frozen import dataclass
from nodewise.machine.model import Machine
from nodewise.studies.commands import Contender, worker_command
from nodewise.studies.contract import Limit
from nodewise.studies.discovery import Found, find_study

#: The study that measures bandwidths, and how many of its three arrays each way passes over.
BANDWIDTH = "bandwidth"
_ARRAYS = {"read": 2, "copy": 2, "copy_cached": 2, "write": 1, "write_cached": 1}
_ALL_ARRAYS = 3
_ELEMENT, _MOVED_EACH = 8, 48
#: Each of its arrays is this many times the caches unless time is short, and at most this share of the memory.
_TIMES_CACHES, _SHARE_OF_MEMORY = 4, 8
#: With this many times the caches in use hardly anything is found there again.
_BEYOND = 2.0
#: What a machine has whose caches are not known.
_USUAL_CACHES = 32 << 20
#: The seconds in which a run starts; the bytes a second that each thread then makes, fills, passes over and checks; the most threads that count.
_START_S, _EACH_S, _MOST_THREADS = 0.15, 0.4e9, 4
#: In a cache as many bytes are moved as the study moves, so that a run is as long and meets as much of what disturbs, but by each
#: thread at least the first and at most the second number of bytes; where time is short the third.
_LEAST_MOVED, _MOST_MOVED, _SHORT_MOVED = 5e7, 1e9, 3e8
_PAGE_KIB = 4


@dataclass(frozen=True)
class MachineLimit:
    """A limit of a study, and what measures it: `memory` where that is a property of the machine alone, at `seconds` a run.

    `how` says at which size it is measured.
    """

    limit: Limit
    contender: Contender
    memory: bool = False
    seconds: float = 0.0
    how: str = ""


def last_caches(machine: Machine) -> int:
    """Bytes of all caches of the last level together."""
    level = max((c.level for c in machine.caches), default=0)
    return sum(c.size_bytes for c in machine.caches if c.level == level) or _USUAL_CACHES


def default_size(machine: Machine) -> int:
    """Bytes of one of the three arrays that study `bandwidth` has where nothing else is asked for, as in its layout."""
    most = machine.memory_bytes // _SHARE_OF_MEMORY or 1 << 62
    return max(1 << 20, min(_TIMES_CACHES * last_caches(machine), most))


def seconds_at(size: int, threads: int) -> float:
    """About how long a run of `bandwidth` takes with three arrays of that many bytes each, on a machine of the slower kind."""
    return _START_S + _ALL_ARRAYS * size / (_EACH_S * min(threads, _MOST_THREADS))


def size_within(machine: Machine, seconds: float, threads: int) -> int:
    """Bytes of each array, by default as many as `default_size`, so that a run takes about that many seconds at most."""
    possible = int((seconds - _START_S) * _EACH_S * min(threads, _MOST_THREADS) / _ALL_ARRAYS)
    return min(default_size(machine), max(possible, 1 << 20))


def beyond_caches(machine: Machine, size: int, arrays: int = _ALL_ARRAYS) -> bool:
    """Whether arrays of that many bytes each are enough larger than the caches for memory to be what is measured."""
    return arrays * size >= _BEYOND * last_caches(machine)


def sized_point(
    found: Found, point: Mapping[str, str], machine: Machine, seconds: float, threads: int
) -> dict[str, str]:
    """The point, where the size of arrays is left open with one at which a run takes about that many seconds at most."""
    if found.study.name != BANDWIDTH or {"kib", "elements"} & point.keys():
        return dict(point)
    size = size_within(machine, seconds, threads)
    if size >= default_size(machine):
        return dict(point)
    kib = size // 1024
    return {"kib": str(kib), "passes": str(_passes(_SHORT_MOVED * threads, kib)), **point}


def _passes(moved: float, kib: int) -> int:
    """How often arrays of that many KiB are passed over to move about that many bytes."""
    return max(1, round(moved / (kib * 1024 / _ELEMENT * _MOVED_EACH)))


def measures_memory(found: Found, point: Mapping[str, str], machine: Machine) -> bool:
    """Whether the study is that of bandwidths, with arrays of which its contenders measure memory's."""
    if found.study.name != BANDWIDTH or "elements" in point:
        return False
    size = int(point["kib"]) * 1024 if "kib" in point else default_size(machine)
    return beyond_caches(machine, size, min(_ARRAYS.values()))


def machine_limits(
    found: Found, machine: Machine, threads: int, work: Mapping[str, float], seconds: float
) -> list[MachineLimit]:
    """What measures the rates that limit the study, whose `work` says how much there is, and on arrays of how many bytes.

    For memory a run takes about `seconds` where arrays of twice the caches allow that.
    """
    return [_at_size(limit, machine, threads, work, seconds) for limit in found.study.limits]


def _at_size(limit: Limit, machine: Machine, threads: int, work: Mapping[str, float], seconds: float) -> MachineLimit:
    other = find_study(limit.study)
    working_set = work.get("working_set")
    point, memory, how, each_s = other.study.point(limit.point), False, "", 0.0
    if limit.study == BANDWIDTH and not {"kib", "elements"} & point.keys():
        arrays = _ARRAYS.get(limit.variant, _ALL_ARRAYS)
        if working_set is None or beyond_caches(machine, int(working_set), 1):
            memory = True
            least = int(_BEYOND * last_caches(machine)) // arrays + 4096
            size = min(max(size_within(machine, seconds, threads), least), default_size(machine))
            each_s = seconds_at(size, threads)
            if size < default_size(machine):
                point = {**point, "kib": str(size // 1024), "passes": "1"}
        else:
            kib = max(_PAGE_KIB * threads, int(working_set / arrays) // (1024 * _PAGE_KIB) * _PAGE_KIB)
            moved = max(_LEAST_MOVED * threads, min(_MOST_MOVED * threads, work.get("bytes", 0.0)))
            point = {**point, "kib": str(kib), "passes": str(_passes(moved, kib))}
            how = f"in the caches, {kib * arrays} KiB at work as in the study"
    command = worker_command(other, limit.variant, point)
    contender = Contender(f"{limit.study} {limit.variant}", "limit", tuple(command))
    return MachineLimit(limit, contender, memory, each_s, how)
