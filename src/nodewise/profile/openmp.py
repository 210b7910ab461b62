# SPDX-License-Identifier: BSD-3-Clause
"""What OpenMP costs a program: time in which one thread works alone, and threads that stand at barriers until the last one comes.

Read from samples: a thread stands at a barrier where the innermost function outside of the kernel and the C library is the runtime's own, and none of those that
hand out work. The initial thread is in a parallel region where its chain passes through one, by the names that compilers and runtimes give; between its samples
the state is taken to last. Both are good to the distance of samples, and no better than the names: a runtime whose own functions are hidden is known by its file
alone.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from nodewise.base.frozen import dataclass
from nodewise.profile.samples import UNKNOWN, Frame, Life, Recorded, Taken

#: Files of runtimes, by the beginnings of their names, and what the functions of those that are linked in begin with.
_FILES = {"libgomp": "GNU", "libomp": "LLVM", "libiomp": "Intel"}
_PREFIXES = {"gomp_": "GNU", "GOMP_": "GNU", "__kmp": "LLVM"}
#: A region's body as a function of its own: GCC's, and Clang's.
_BODY = re.compile(r"\._omp_fn\.\d+|(?:^|\.)omp_outlined|\.omp_outlined\.|\$omp\$")
#: What enters a region, or is below one in a thread that the runtime started.
_ENTRIES = (
    "GOMP_parallel",
    "__kmpc_fork_call",
    "__kmp_fork_call",
    "__kmp_invoke_microtask",
    "__kmp_GOMP_microtask_wrapper",
    "__kmp_invoke_task_func",
)
_STARTS = ("gomp_thread_start", "__kmp_launch_worker", "__kmp_launch_thread")
#: Functions of runtimes that hand out work or guard it: who is in these is no longer waiting for all others.
_HANDING_OUT = (
    "GOMP_loop", "GOMP_critical", "GOMP_ordered", "GOMP_atomic", "GOMP_task", "GOMP_sections", "GOMP_single", "omp_set_", "omp_unset_",
    "__kmpc_dispatch", "__kmp_dispatch", "__kmpc_critical", "__kmpc_omp_task", "__kmp_acquire", "__kmp_release", "gomp_loop", "gomp_iter",
)  # fmt: skip
#: Below a wait: the kernel, and the C library by which it is asked.
C_LIBRARY = re.compile(r"/(?:libc|libpthread|ld-linux[^/]*)[.-][^/]*$|^\[vdso\]")
_BELOW = re.compile(r"^\[|" + C_LIBRARY.pattern)


@dataclass(frozen=True)
class TeamThread:
    """A thread of a team, in seconds: how long it was seen, which is the sum of the others.

    `alone_s` is the initial thread's time in no region, `work_s` work in regions, `barrier_s` at barriers, `idle_s` with nothing to do while the initial thread worked alone,
    `other_s` waiting for something else, or preempted by others.
    """

    tid: int
    seen_s: float
    alone_s: float
    work_s: float
    barrier_s: float
    idle_s: float
    other_s: float


@dataclass(frozen=True)
class OpenMPShare:
    """What OpenMP cost a process (`rank`: of MPI, None without).

    `seconds` is how long the initial thread was seen, `serial_s` how long it was in no parallel region; `imbalance` is 1 − mean / most of the threads' work, 0 where
    all have the same; `barrier_s` is summed over threads. `how` says what this is known by.
    """

    rank: int | None
    pid: int
    runtime: str
    seconds: float
    serial_s: float
    barrier_s: float
    imbalance: float
    how: str
    threads: tuple[TeamThread, ...]

    @property
    def serial_share(self) -> float:
        """The part of the time in which one thread worked alone."""
        return self.serial_s / self.seconds if self.seconds else 0.0


def _runtime(frame: Frame) -> str | None:
    name = PurePosixPath(frame.object).name
    for start, runtime in _FILES.items():
        if name.startswith(start):
            return runtime
    return next((r for start, r in _PREFIXES.items() if frame.function.startswith(start)), None)


def waits_at_barrier(chain: Sequence[Frame]) -> bool:
    """Whether who is in these functions, the innermost first, stands at a barrier of an OpenMP runtime, as far as names tell."""
    own = next((f for f in chain if not _BELOW.search(f.object)), None)
    return own is not None and _runtime(own) is not None and not own.function.startswith(_HANDING_OUT)


def in_region(chain: Sequence[Frame]) -> bool:
    """Whether these functions are part of a parallel region: where those of a runtime have no names, what is in it and is not called by name begins or ends one."""
    return any(
        _BODY.search(f.function)
        or f.function.startswith(_ENTRIES)
        or (f.function == UNKNOWN and _runtime(f) is not None)
        for f in chain
    )


def openmp_shares(recorded: Mapping[int | None, Recorded], off_cpu: bool) -> tuple[OpenMPShare, ...]:
    """What OpenMP cost each process that used it; `off_cpu` is whether it is known where threads slept."""
    found = []
    for rank, one in recorded.items():
        by_process: dict[int, list[Taken]] = {}
        for taken in one.samples:
            by_process.setdefault(taken.pid, []).append(taken)
        for pid, samples in by_process.items():
            share = _of_process(rank, pid, samples, one, off_cpu)
            if share is not None:
                found.append(share)
    return tuple(found)


class _Initial:
    """The initial thread over time: from each sample on it is in a region, or it works alone."""

    def __init__(self, samples: Sequence[Taken], begin: float, end: float):
        self.times = [begin, *(t.time for t in samples), end]
        first = [in_region(samples[0].chain)] if samples else [False]
        self.parallel = [*first, *(in_region(t.chain) for t in samples)]
        self.serial = [0.0]
        for i, parallel in enumerate(self.parallel):
            self.serial.append(self.serial[-1] + (0.0 if parallel else self.times[i + 1] - self.times[i]))

    def alone_until(self, time: float) -> float:
        """For how many seconds it worked alone, from its beginning to a time."""
        i = bisect_right(self.times, time) - 1
        if i < 0:
            return 0.0
        if i >= len(self.parallel):
            return self.serial[-1]
        return self.serial[i] + (0.0 if self.parallel[i] else time - self.times[i])

    def is_parallel(self, time: float) -> bool:
        """Whether it is in a region then."""
        return self.parallel[min(max(bisect_right(self.times, time) - 1, 0), len(self.parallel) - 1)]


def _of_process(
    rank: int | None, pid: int, samples: Sequence[Taken], one: Recorded, off_cpu: bool
) -> OpenMPShare | None:
    runtimes = {r for t in samples for f in t.chain if (r := _runtime(f)) is not None}
    team = sorted({t.tid for t in samples if t.tid == pid or any(_of_team(f) for f in t.chain)})
    main = one.threads.get((pid, pid))
    if not runtimes or main is None or len(team) < 2:
        return None
    initial = _Initial([t for t in samples if t.tid == pid], main.first, main.last)
    threads = [
        _of_thread(tid, [t for t in samples if t.tid == tid], one.threads[pid, tid], initial, tid == pid)
        for tid in team
    ]
    most = max(t.work_s for t in threads)
    mean = sum(t.work_s for t in threads) / len(threads)
    waits = [t.chain for t in samples if waits_at_barrier(t.chain)]
    named = any(f.function.startswith(tuple(_PREFIXES)) for chain in waits for f in chain)
    how = "a guess by the names of the runtime's functions"
    if waits and not named:
        how = "a guess, as the runtime's functions have no names here: all time in its file is taken for waiting"
    if not off_cpu:
        how += "; threads that slept are taken to have slept at barriers (--off-cpu tells)"
    return OpenMPShare(
        rank, pid, "Intel" if "Intel" in runtimes else sorted(runtimes)[0], main.last - main.first, initial.serial[-1],
        sum(t.barrier_s for t in threads), 1 - mean / most if most else 0.0, how, tuple(threads),
    )  # fmt: skip


def _of_thread(tid: int, samples: Sequence[Taken], life: Life, initial: _Initial, is_initial: bool) -> TeamThread:
    """Where a thread's time went. What it was on a processor for is shared out by its samples, however often these came in truth."""
    seen = life.last - life.first
    alone = initial.serial[-1] if is_initial else 0.0
    slept = {"barrier": 0.0, "idle": 0.0, "other": 0.0}
    for away in life.away:
        beside_serial = initial.alone_until(away.time + away.seconds) - initial.alone_until(away.time)
        in_regions = max(0.0, away.seconds - beside_serial)
        # without its place a sleep of a team's thread is taken for one at a barrier, of the initial one in a region
        at_barrier = waits_at_barrier(away.chain) if away.chain else not is_initial or initial.is_parallel(away.time)
        slept["barrier" if at_barrier else "other"] += in_regions
        # of the initial thread that is time alone already
        if not is_initial:
            slept["idle" if at_barrier else "other"] += beside_serial
    # when it was held back is not known: of the initial thread some of that is time alone
    held = life.preempted_s * ((seen - alone) / seen if seen else 0.0)
    ran = max(0.0, seen - alone - sum(slept.values()) - held)
    counts = Counter(
        "work" if not waits_at_barrier(t.chain) else "barrier" if initial.is_parallel(t.time) else "idle"
        for t in samples
        if t.waited is None and (not is_initial or in_region(t.chain))
    )
    each_s = ran / counts.total() if counts else 0.0
    work, barrier, idle = (counts[state] * each_s + slept.get(state, 0.0) for state in ("work", "barrier", "idle"))
    return TeamThread(tid, seen, alone, work, barrier, idle, max(0.0, seen - alone - work - barrier - idle))


def _of_team(frame: Frame) -> bool:
    return frame.function.startswith(_STARTS) or bool(_BODY.search(frame.function)) or _runtime(frame) is not None
