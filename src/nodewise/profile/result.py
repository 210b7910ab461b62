# SPDX-License-Identifier: BSD-3-Clause
"""What a profile shows: shares of functions, lines and threads, each with its interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, TypeVar

from nodewise.base.frozen import dataclass
from nodewise.profile.openmp import C_LIBRARY, OpenMPShare
from nodewise.profile.samples import UNKNOWN, Frame, Recorded, Taken
from nodewise.statistics.shares import share_intervals

_Key = TypeVar("_Key", bound=tuple[str | int, ...])
#: Functions, lines and threads that are kept; the rest is in the recording.
_KEPT = 60
#: Fewer samples than this bear no interval worth reading.
FEWEST = 20
#: Functions of runtimes that wait by spinning, as far as their names tell.
_SPINNING = (
    "gomp_barrier",
    "gomp_team_barrier",
    "do_wait",
    "__kmp_wait",
    "__kmp_hyper_barrier",
    "__kmp_fork_barrier",
    "kmp_flag",
)
#: What programs and threads begin in, or what is named after them: of C libraries, of the loader and of Go's runtime.
_BEGINNINGS = (
    "_start",
    "main",
    "__libc_start",
    "clone",
    "__clone",
    "start_thread",
    "thread_start",
    "__start_context",
    "_dl_",
    "_init",
    "runtime.",
    "_rt0_",
)
_MPI_WAITING = (
    "MPI_Barrier",
    "PMPI_Barrier",
    "MPI_Wait",
    "PMPI_Wait",
    "MPIDI_Progress",
    "opal_progress",
    "ucp_worker_progress",
)


@dataclass(frozen=True)
class FunctionShare:
    """A function's part of all samples of work: in itself with the 95% interval, and with what it calls. Shares are of 1."""

    function: str
    object: str
    samples: int
    share: float
    low: float
    high: float
    total: float


@dataclass(frozen=True)
class LineShare:
    """A source line's part of all samples of work, with the 95% interval."""

    file: str
    line: int
    function: str
    samples: int
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class ThreadShare:
    """A thread: its part of all samples of work, and in seconds how long it was observed, waited, and was preempted.

    `rank` is that of its MPI process, None where there are none.
    """

    rank: int | None
    pid: int
    tid: int
    name: str
    samples: int
    share: float
    seconds: float
    waited_s: float
    preempted_s: float


@dataclass(frozen=True)
class WaitingShare:
    """Where threads stood still: the function that they waited in (its object's name where it has none), and for how many seconds, all threads together."""

    function: str
    object: str
    caller: str
    seconds: float
    share: float


@dataclass(frozen=True)
class ProfileResult:
    """Where a program's time went.

    `seconds` is its own duration with perf's start and end, `samples` those of work, `event` what was sampled, `rate` how often in a
    second, `chains` and `chains_why` how callers were found, `chains_lack` what keeps perf from unwinding
    the program (empty: nothing), `off_cpu` whether it was recorded where threads wait. `only_calling` is how many
    functions no sample is in itself. `spinning` is the share of samples in functions that wait by spinning, by
    their names; `openmp` is what OpenMP cost each process that used it. `exit_code` is the program's. `recordings` are perf's files.
    """

    kind: ClassVar[str] = "profile"
    computed: ClassVar[tuple[str, ...]] = ("enough",)
    command: tuple[str, ...]
    machine: str
    taken_at: str
    seconds: float
    exit_code: int
    event: str
    rate: int
    chains: str
    chains_why: str
    chains_lack: str
    off_cpu: bool
    perf: str
    samples: int
    lost: int
    functions: tuple[FunctionShare, ...]
    only_calling: int
    lines: tuple[LineShare, ...]
    threads: tuple[ThreadShare, ...]
    waiting: tuple[WaitingShare, ...]
    openmp: tuple[OpenMPShare, ...]
    spinning: float
    notes: tuple[str, ...]
    recordings: tuple[str, ...]

    @property
    def working(self) -> tuple[FunctionShare, ...]:
        """The functions that samples are in themselves."""
        return tuple(f for f in self.functions if f.samples)

    @property
    def enough(self) -> bool:
        """Whether there are samples enough for shares that mean something."""
        return self.samples >= FEWEST


@dataclass(frozen=True)
class Profiled:
    """A profile with its samples of each rank (None: without ranks)."""

    result: ProfileResult
    recorded: Mapping[int | None, Recorded]

    @property
    def samples(self) -> list[Taken]:
        """All samples of all ranks, in the order of time."""
        return sorted((taken for one in self.recorded.values() for taken in one.samples), key=lambda taken: taken.time)


def function_shares(work: Sequence[Taken]) -> tuple[FunctionShare, ...]:
    """The functions of samples in the order of time: those that most samples are in first, then those that only call others."""
    own = Counter(_named(taken.chain) for taken in work)
    total: Counter[tuple[str, str]] = Counter()
    for taken in work:
        total.update({(frame.function, frame.object) for frame in taken.chain} or {_named(())})
    names = _most(own)[:_KEPT]
    # who only calls others comes behind those who work
    names += [name for name in _most(total) if name not in own][: _KEPT - len(names)]
    number = {name: i for i, name in enumerate(names)}
    spans = share_intervals([number.get(_named(t.chain), -1) for t in work], len(names)) if work else []
    return tuple(
        FunctionShare(*name, own[name], own[name] / len(work), *span, total[name] / len(work))
        for name, span in zip(names, spans, strict=True)
    )


def calling_count(work: Sequence[Taken]) -> int:
    """How many functions are on the chains of samples, and none of these is in them."""
    own = {_named(taken.chain) for taken in work}
    return len({(frame.function, frame.object) for taken in work for frame in taken.chain} - own)


def _most(counted: Mapping[_Key, float]) -> list[_Key]:
    """By falling number; those with the same in the order of their names, not of their coming."""
    return sorted(counted, key=lambda one: (-counted[one], one))


def _named(chain: Sequence[Frame]) -> tuple[str, str]:
    return (chain[0].function, chain[0].object) if chain else (UNKNOWN, "")


def line_shares(
    work: Sequence[Taken], places: Callable[[str, Sequence[int]], Mapping[int, tuple[str, int]]]
) -> tuple[LineShare, ...]:
    """The source lines of samples; `places` gives file and line for addresses in an object, as far as it has them."""
    by_object: dict[str, set[int]] = {}
    for taken in work:
        if taken.chain:
            by_object.setdefault(taken.chain[0].object, set()).add(taken.chain[0].address)
    known = {name: places(name, sorted(addresses)) for name, addresses in by_object.items()}
    lines = [_line_of(taken, known) for taken in work]
    counts = Counter(line for line in lines if line is not None)
    counted = _most(counts)[:_KEPT]
    number = {line: i for i, line in enumerate(counted)}
    if not counted:
        return ()
    spans = share_intervals([-1 if line is None else number.get(line, -1) for line in lines], len(counted))
    return tuple(
        LineShare(*line, counts[line], counts[line] / len(work), *span)
        for line, span in zip(counted, spans, strict=True)
    )


def _line_of(taken: Taken, known: Mapping[str, Mapping[int, tuple[str, int]]]) -> tuple[str, int, str] | None:
    if not taken.chain:
        return None
    place = known[taken.chain[0].object].get(taken.chain[0].address)
    return None if place is None else (*place, taken.chain[0].function)


def thread_shares(recorded: Mapping[int | None, Recorded]) -> tuple[ThreadShare, ...]:
    """The threads of each rank (None: there are no ranks), those that worked most first."""
    all_work = sum(taken.waited is None for one in recorded.values() for taken in one.samples)
    found = []
    for rank, one in recorded.items():
        worked = Counter((taken.pid, taken.tid) for taken in one.samples if taken.waited is None)
        for key, life in one.threads.items():
            share = worked[key] / all_work if all_work else 0.0
            found.append(
                ThreadShare(
                    rank=rank,
                    pid=key[0],
                    tid=key[1],
                    name=life.name,
                    samples=worked[key],
                    share=share,
                    seconds=life.last - life.first,
                    waited_s=life.waited_s,
                    preempted_s=life.preempted_s,
                )
            )
    return tuple(sorted(found, key=lambda t: (-t.samples, t.rank or 0, t.pid, t.tid))[:_KEPT])


def waiting_shares(samples: Sequence[Taken]) -> tuple[WaitingShare, ...]:
    """Where threads stood still, in the first function outside of the kernel, the longest first."""
    seconds: dict[tuple[str, str, str], float] = {}
    for taken in samples:
        if taken.waited is None:
            continue
        own = [frame for frame in taken.chain if not frame.object.startswith("[kernel")]
        where = _waited_in(own) if own else (UNKNOWN, "", "")
        seconds[where] = seconds.get(where, 0.0) + taken.waited
    together = sum(seconds.values())
    longest = _most(seconds)[:_KEPT]
    return tuple(WaitingShare(*where, seconds[where], seconds[where] / together) for where in longest if together)


def _waited_in(chain: Sequence[Frame]) -> tuple[str, str, str]:
    """The function, its object, and who called it: of functions without a name, as stripped libraries keep to themselves, the object's name, and the nearest caller with one."""
    first = chain[0]
    rest = [frame for frame in chain[1:] if frame.function != UNKNOWN]
    if first.function == UNKNOWN and C_LIBRARY.search(first.object) and rest and rest[0].object == first.object:
        # what it was asked for says more than that it is the C library
        first, rest = rest[0], rest[1:]
    # functions of the C library call each other
    caller = next((frame for frame in rest if not C_LIBRARY.search(frame.object)), rest[0] if rest else None)
    name = object_name(first.object) if first.function == UNKNOWN and first.object else first.function
    return name, first.object, caller.function if caller else ""


def spinning_share(work: Sequence[Taken]) -> float:
    """The share of samples that are in a function whose name says that it waits by spinning: of OpenMP's and MPI's runtimes."""
    names = (*_SPINNING, *_MPI_WAITING)
    spun = sum(any(frame.function.startswith(names) for frame in taken.chain[:4]) for taken in work)
    return spun / len(work) if work else 0.0


def cut_share(work: Sequence[Taken]) -> float:
    """The share of samples whose outermost function is none that programs and threads begin in: their chains were cut."""
    return sum(_is_cut(taken.chain) for taken in work) / len(work) if work else 0.0


def _is_cut(chain: Sequence[Frame]) -> bool:
    """Of code that was compiled while the program ran, and of what has no name, it is not known."""
    if not chain or chain[-1].function == UNKNOWN or not chain[-1].object.startswith("/"):
        return False
    return not chain[-1].function.startswith(_BEGINNINGS) and not chain[-1].object.endswith(".map")


def samples_text(count: int) -> str:
    """Such as `1 sample` or `20 samples`."""
    return f"{count} sample{'s' * (count != 1)}"


def object_name(path: str) -> str:
    """How an object is shown: the file's own name, and the kernel as such."""
    return "kernel" if path.startswith("[kernel") else Path(path).name or path
