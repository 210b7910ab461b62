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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from nodewise.profile.samples import UNKNOWN, Frame, Recorded, Taken

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
    """A thread of a team, in seconds: at work in parallel regions, at barriers, and with nothing to do while the initial thread worked alone."""

    tid: int
    work_s: float
    barrier_s: float
    idle_s: float


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


def openmp_shares(recorded: Mapping[int | None, Recorded], rate: int, off_cpu: bool) -> tuple[OpenMPShare, ...]:
    """What OpenMP cost each process that used it; `rate` is in samples a second, `off_cpu` whether it is known where threads slept."""
    found = []
    for rank, one in recorded.items():
        by_process: dict[int, list[Taken]] = {}
        for taken in one.samples:
            by_process.setdefault(taken.pid, []).append(taken)
        for pid, samples in by_process.items():
            share = _of_process(rank, pid, samples, one, 1 / rate, off_cpu)
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
    rank: int | None, pid: int, samples: Sequence[Taken], one: Recorded, each_s: float, off_cpu: bool
) -> OpenMPShare | None:
    runtimes = {r for t in samples for f in t.chain if (r := _runtime(f)) is not None}
    team = sorted({t.tid for t in samples if t.tid == pid or any(_of_team(f) for f in t.chain)})
    main = one.threads.get((pid, pid))
    if not runtimes or main is None or len(team) < 2:
        return None
    initial = _Initial([t for t in samples if t.tid == pid], main.first, main.last)
    threads = []
    for tid in team:
        work = barrier = idle = 0.0
        for t in (t for t in samples if t.tid == tid and t.waited is None):
            if not waits_at_barrier(t.chain):
                work += each_s if tid != pid or in_region(t.chain) else 0.0
            elif initial.is_parallel(t.time):
                barrier += each_s
            else:
                idle += each_s
        for away in one.threads[pid, tid].away:
            # without its place a sleep of a team's thread is taken for one at a barrier, of the initial one in a region
            if not (waits_at_barrier(away.chain) if away.chain else tid != pid or initial.is_parallel(away.time)):
                continue
            alone = initial.alone_until(away.time + away.seconds) - initial.alone_until(away.time)
            idle += alone
            barrier += max(0.0, away.seconds - alone)
        threads.append(TeamThread(tid, work, barrier, idle))
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


def _of_team(frame: Frame) -> bool:
    return frame.function.startswith(_STARTS) or bool(_BODY.search(frame.function)) or _runtime(frame) is not None
