# SPDX-License-Identifier: BSD-3-Clause
"""Profile: in which files, and in which functions for memory, a program and its children spend their time."""

from __future__ import annotations

import contextlib
import mmap
import os
import threading
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, field
from operator import attrgetter
from pathlib import Path
from typing import Any

from nodewise.base.elf import Elf
from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.runner.perf_event import Record, Sampler, SamplerError
from nodewise.runner.proc_files import children_of, executable_of

#: What is no file: the kernel itself, and memory without one, where compilers at run time put code.
KERNEL, ANONYMOUS = "[kernel]", "[anonymous]"
#: With fewer samples than this a share is no more than a hint: with none of 60 it may still be 5%.
ENOUGH = 60
#: The time between samples, not in step with anything, and the most samples; on many processors they are further apart.
_PERIOD_S, _MOST_SAMPLES = 0.00197, 64000
#: Reading takes no more than this share of one processor beyond what may be spent at once, unless the wait would be the longest.
_MOST_COST, _AT_ONCE_S = 0.01, 0.03
_SHORTEST_S, _LONGEST_S = 0.05, 2.0
#: The runner needs so long to get its server ready.
_PATIENCE_S = 0.2
#: Functions that give out memory: C's, and C++'s operators. What lies just before the leaders is theirs, too: the
#: C library does not report the names of the functions that do their work, but its linker puts a source file in one piece.
_LEADERS = frozenset(("malloc", "free", "calloc", "realloc", "__default_morecore"))
_FOLLOWERS = (
    *(
        "cfree",
        "memalign",
        "aligned_alloc",
        "posix_memalign",
        "valloc",
        "pvalloc",
        "reallocarray",
        "mallopt",
        "malloc_trim",
    ),
    *("malloc_usable_size", "malloc_info", "malloc_stats", "mallinfo", "mallinfo2"),
    *("__libc_malloc", "__libc_free", "__libc_calloc", "__libc_realloc"),
)
_OPERATORS = ("_Znw", "_Zna", "_Zdl", "_Zda")
_MOST_GAP = 1 << 16
#: Where functions for memory are looked for: C and C++ libraries; what is in an allocator's own library is known by its name.
_C_LIBRARIES = ("libc.so", "libc-", "libc.musl", "ld-musl", "libstdc++.", "libc++.", "libc++abi.")


@dataclass(frozen=True)
class Profile:
    """Shares of the processor time of a run, each 0 to 1, by what was executed, from `samples` samples.

    `files` are by path, with `[kernel]` and `[anonymous]`; without `kernel` only time in user mode was seen, of which they
    are the shares. `within` gives for each file the share of the processes that had it mapped, `programs` that of each
    program's file. `allocation` is the share of the functions of C and C++ libraries that give out and take back memory.
    `missing` says why there is none.
    """

    samples: int = 0
    kernel: bool = False
    files: Mapping[str, float] = field(default_factory=dict)
    within: Mapping[str, float] = field(default_factory=dict)
    programs: Mapping[str, float] = field(default_factory=dict)
    allocation: float = 0.0
    missing: str = ""

    @property
    def enough(self) -> bool:
        """Whether there are enough samples to distinguish a share of 5% from none."""
        return self.samples >= ENOUGH

    def to_json(self) -> dict[str, Any]:
        """All fields as plain values."""
        return asdict(self)


@dataclass
class _Process:
    """A process as its records show it: the regions of its memory that hold code, by their begin."""

    program: str = ""
    begins: list[int] = field(default_factory=list)
    regions: list[tuple[int, int, str]] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    samples: int = 0

    def copy(self) -> _Process:
        return _Process(self.program, list(self.begins), list(self.regions), set(self.files))

    def put(self, begin: int, end: int, offset: int, name: str) -> None:
        """A new mapping takes the place of what was there."""
        first = bisect_right(self.begins, begin)
        if first and self.regions[first - 1][0] > begin:
            first -= 1
        last = first
        while last < len(self.begins) and self.begins[last] < end:
            last += 1
        left = [(b, r) for b, r in zip(self.begins[first:last], self.regions[first:last], strict=True) if b < begin]
        right = [
            (end, (r[0], r[1] + end - b, r[2]))
            for b, r in zip(self.begins[first:last], self.regions[first:last], strict=True)
            if r[0] > end
        ]
        found = [*((b, (begin, r[1], r[2])) for b, r in left), (begin, (end, offset, name)), *right]
        self.begins[first:last] = [b for b, _ in found]
        self.regions[first:last] = [r for _, r in found]

    def at(self, address: int) -> tuple[str, int]:
        """The file at an address, and the place in it."""
        i = bisect_right(self.begins, address) - 1
        if i < 0 or self.regions[i][0] <= address:
            return ANONYMOUS, 0
        _, offset, name = self.regions[i]
        return name, address - self.begins[i] + offset


class Tally:
    """Counts records into shares; processes count from their first exec on, so that what starts them does not."""

    def __init__(self) -> None:
        self._running: dict[int, _Process] = {}
        self._ended: list[_Process] = []
        self._files: Counter[str] = Counter()
        self._places: dict[str, Counter[int]] = {}
        self.mapped: dict[str, None] = {}

    @property
    def processes(self) -> int:
        """How many have executed a program."""
        return len(self._running)

    def add(self, record: Record) -> None:
        """Count one; they must come in the order of their times."""
        pid = record.pid
        if record.kind == "exec":
            self._end(pid)
            self._running[pid] = _Process()
            return
        if record.kind == "fork":
            self._end(pid)
            parent = self._running.get(record.parent)
            if parent is not None:
                self._running[pid] = parent.copy()
            return
        process = self._running.get(pid)
        if process is None:
            return
        if record.kind == "map":
            name = _file_name(record.name)
            if name.startswith("/"):
                process.program = process.program or name
                process.files.add(name)
                self.mapped[name] = None
            process.put(record.address, record.address + record.size, record.offset, name)
            return
        process.samples += 1
        if record.flag:
            self._files[KERNEL] += 1
            return
        name, place = process.at(record.address)
        self._files[name] += 1
        if name.rpartition("/")[2].startswith(_C_LIBRARIES):
            self._places.setdefault(name, Counter())[place] += 1

    def _end(self, pid: int) -> None:
        before = self._running.pop(pid, None)
        if before is not None:
            self._ended.append(before)

    def profile(self, kernel: bool) -> Profile:
        """The shares so far."""
        processes = [*self._ended, *self._running.values()]
        total = sum(self._files.values())
        if not total:
            return Profile(kernel=kernel, missing="no sample: it ran too short, or under another user's rights")
        within: Counter[str] = Counter()
        programs: Counter[str] = Counter()
        for process in processes:
            if process.samples:
                within.update(dict.fromkeys(process.files, process.samples))
                programs[process.program] += process.samples
        allocating = sum(_allocating(path, places) for path, places in self._places.items())
        shares = [{k: n / total for k, n in c.most_common()} for c in (self._files, within, programs)]
        return Profile(total, kernel, shares[0], shares[1], shares[2], allocating / total)


def _file_name(name: str) -> str:
    name = name.removesuffix(" (deleted)")
    if name.startswith(("//", "/memfd:", "/anon_hugepage", "/dev/", "/SYSV")) or not name.startswith(("/", "[v")):
        return ANONYMOUS
    return name


def _allocating(path: str, places: Mapping[int, int]) -> int:
    """How many samples of a file lie in functions that give out memory."""
    ranges = allocation_ranges(path)
    return sum(n for place, n in places.items() if any(a <= place < b for a, b in ranges))


def allocation_ranges(path: str) -> list[tuple[int, int]]:
    """The parts of a library's file, from and to, that hold functions for memory; none where it cannot be read."""
    found: list[tuple[int, int]] = []
    with contextlib.suppress(OSError, ValueError, InputError), ExitStack() as opened:
        file = opened.enter_context(Path(path).open("rb"))
        elf = Elf(opened.enter_context(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))
        named: dict[tuple[int, int], set[str]] = {}
        for begin, size, name in elf.functions():
            named.setdefault((begin, begin + size), set()).add(name)
        before = 0
        for (begin, end), names in sorted(named.items()):
            if before and names & _LEADERS:
                found.append((max(before, begin - _MOST_GAP), end))
            elif names & {*_LEADERS, *_FOLLOWERS} or any(name.startswith(_OPERATORS) for name in names):
                found.append((begin, end))
            before = max(before, end)
    return found


class Profiler:
    """Profiles what a launcher's process runs while it is entered. It never fails: `profile.missing` says what stood against it."""

    def __init__(self, root: int):
        self.profile = Profile(missing="it did not run")
        self.tally = Tally()
        self.cost_s = 0.0
        self._ended = threading.Event()
        self._waiting: list[Record] = []
        self._newest = 0
        self._sampler: Sampler | None = None
        processors = os.cpu_count() or 1
        try:
            self._sampler = Sampler(_server_of(root), max(_PERIOD_S, processors / _MOST_SAMPLES))
        except (SamplerError, OSError, InputError) as problem:
            self.profile = Profile(missing=str(problem))
        self._thread = threading.Thread(target=self._watch, name="nodewise-profile", daemon=True)

    def __enter__(self) -> Profiler:
        if self._sampler is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        sampler = self._sampler
        if sampler is None:
            return
        self._ended.set()
        self._thread.join()
        self._read(sampler)
        sampler.close()
        self._count(self._newest)
        self.profile = self.tally.profile(sampler.kernel)

    def _watch(self) -> None:
        begin = time.monotonic()
        wait = _SHORTEST_S
        while self._sampler is not None and not self._ended.wait(wait):
            before = time.thread_time()
            # what another processor recorded before may come with the next reading only
            safe = self._newest
            self._read(self._sampler)
            self._count(safe)
            self.cost_s += time.thread_time() - before
            owed = (self.cost_s - _AT_ONCE_S) / _MOST_COST - (time.monotonic() - begin)
            wait = min(_LONGEST_S, max(_SHORTEST_S, owed))

    def _read(self, sampler: Sampler) -> None:
        records = sampler.read()
        self._newest = max((r.time for r in records), default=self._newest)
        self._waiting += records

    def _count(self, until: int) -> None:
        self._waiting.sort(key=attrgetter("time"))
        done = bisect_right(self._waiting, until, key=attrgetter("time"))
        for record in self._waiting[:done]:
            self.tally.add(record)
        del self._waiting[:done]


def _server_of(root: int) -> int:
    """The process that starts programs: the launcher's own, or the one that it has made for that and that runs the same file."""
    own = executable_of(root)
    until = time.monotonic() + _PATIENCE_S
    while True:
        same = [pid for pid in children_of(root) if own and executable_of(pid) == own]
        if same:
            return same[0]
        if time.monotonic() > until:
            return root
        time.sleep(0.002)
