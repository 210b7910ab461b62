# SPDX-License-Identifier: BSD-3-Clause
"""Observe: where every thread of a process tree ran, sampled from /proc while it runs."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import field
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.placement.registry import binding_variables
from nodewise.runner.numa_maps import Mapping as Pages
from nodewise.runner.numa_maps import bytes_by_node, read_numa_maps
from nodewise.runner.proc_files import (
    children_of,
    executable_of,
    rank_of,
    read_environment,
    read_stat,
    read_status,
    threads_of,
)
from nodewise.runner.program import RUNTIMES

#: Sampling takes at most this share of one processor, and looking at maps as much again: intervals grow as they must.
MOST_COST = 0.01
#: How much may be spent at once, so that the start is seen closely.
_AT_ONCE_S = 0.02
#: So many starts by exec may be seen as closely: `nodewise place` and Python's launchers take longer than what they start.
_MOST_STARTS = 4
#: How often it is looked for whether one of so few processes became another program, while there is no sample.
_EXEC_S, _EXEC_OF = 0.02, 4
#: So many samples of a program that has no environment, or no library of OpenMP's, look for them; some have none.
_HASTY_LOOKS = 4
#: How often what a thread may use is looked at again: it rarely changes.
_LOOK_AGAIN_S = 0.1
_KEPT_VARIABLES = ("OMP_", "KMP_", "GOMP_", "NODEWISE_PIN")


@dataclass
class SeenThread:
    """A thread: `ran` counts samples by processor, `track` its stays as (begin, end, processor) in seconds.

    A sample counts where the thread had run since the sample before. `allowed` is what it might use when last looked at.
    """

    tid: int
    pid: int
    name: str
    first_s: float
    last_s: float
    allowed: tuple[int, ...] = ()
    cpu_s: float = 0.0
    ran: Counter[int] = field(default_factory=Counter)
    track: list[tuple[float, float, int]] = field(default_factory=list)
    migrations: int = 0
    strayed: Counter[int] = field(default_factory=Counter)


@dataclass
class SeenProcess:
    """A process: its command, its launcher's rank, OpenMP's variables and runtime, the most memory by node (bytes).

    `mappings` are those that it had when they were last looked at, `executable` the file that it ran then.
    """

    pid: int
    command: str = ""
    rank: int | None = None
    environment: dict[str, str] = field(default_factory=dict)
    runtime: str = ""
    memory: dict[int, int] = field(default_factory=dict)
    mappings: list[Pages] = field(default_factory=list)
    memory_missing: str = ""
    nodes: tuple[int, ...] = ()
    threads: dict[int, SeenThread] = field(default_factory=dict)
    executable: str = ""

    @property
    def in_order(self) -> list[SeenThread]:
        """Its threads in the order of their creation, the main thread first."""
        # as the kernel listed them: numbers start over, so that a later thread may have a lower one
        return list(self.threads.values())


@dataclass
class Observation:
    """What was seen of a process tree over `seconds`, in `samples` sweeps that took `cost_s` of processor time."""

    processes: dict[int, SeenProcess] = field(default_factory=dict)
    seconds: float = 0.0
    samples: int = 0
    cost_s: float = 0.0

    @property
    def working(self) -> list[SeenProcess]:
        """Processes with a thread that was seen running, ranks in order."""
        busy = [p for p in self.processes.values() if any(t.ran for t in p.threads.values())]
        return sorted(busy, key=lambda p: (p.rank is None, p.rank or 0, p.pid))


def check_interval(interval_s: float) -> None:
    """Raises InputError where samples cannot be so far apart."""
    if not 0 < interval_s <= 60:
        raise InputError(f"cannot sample every {interval_s:g} s", "give an interval of more than 0 and at most 60 s")


class Observer:
    """Samples a tree: `root` and all that it starts; with `adopted` also what becomes a child of this process."""

    def __init__(
        self,
        root: int,
        interval_s: float = 0.01,
        adopted: Callable[[], list[int]] | None = None,
        passed_over: str = "",
    ):
        """What runs the file `passed_over` is not sampled, only what it starts: a runner, and its children before they are programs.

        Raises InputError where the interval is not positive, or there is no such process."""
        check_interval(interval_s)
        if not Path(f"/proc/{root}").is_dir():
            raise InputError(f"there is no process {root}", "give the number of one that runs")
        self._root = root
        self._interval = interval_s
        self._adopted = adopted
        self._passed_over = passed_over
        self._begin = time.monotonic()
        self._looked: dict[int, float] = {}
        self._looking_s = 0.0
        self._run_ns: dict[int, int] = {}
        self._where: dict[int, int] = {}
        self._before_ns: dict[int, int] = {}
        self._hasty: dict[int, int] = {}
        self._starts = 1
        self.seen = Observation()

    def watch(self, ended: Callable[[float], bool], seconds: float | None = None) -> Observation:
        """Sample until `ended(wait_s)`, which waits that long for the end, says so, or for that many seconds."""
        sampling = 0.0
        while True:
            begin = time.thread_time()
            alive = self.sweep()
            spent = time.thread_time() - begin
            self.seen.cost_s += spent
            # the first sample loads what the others have: on a busy machine it may take as long as all of them may
            sampling += spent - self._looking_s if self.seen.samples > 1 else 0.0
            now = time.monotonic() - self._begin
            if not alive or (seconds is not None and now >= seconds):
                break
            wait = max(self._interval, (sampling - self._starts * _AT_ONCE_S) / MOST_COST - now)
            if self._ended(ended, wait if seconds is None else min(wait, max(0.0, seconds - now))):
                break
        self.seen.seconds = time.monotonic() - self._begin
        return self.seen

    def _ended(self, ended: Callable[[float], bool], wait_s: float) -> bool:
        """Wait until the next sample is due, or a process becomes another program; whether the end came first."""
        while wait_s > _EXEC_S and len(self.seen.processes) <= _EXEC_OF:
            if ended(_EXEC_S):
                return True
            wait_s -= _EXEC_S
            if any(executable_of(one.pid) not in ("", one.executable) for one in self.seen.processes.values()):
                return False
        return ended(wait_s)

    def sweep(self) -> bool:
        """Take one sample; false where nothing of the tree is left."""
        now = time.monotonic() - self._begin
        self._looking_s = 0.0
        waiting = [self._root, *(self._adopted() if self._adopted else ())]
        met: set[int] = set()
        while waiting:
            pid = waiting.pop()
            if pid in met:
                continue
            met.add(pid)
            executable = executable_of(pid)
            tids = [] if self._passed_over and executable == self._passed_over else threads_of(pid)
            if tids:
                process = self.seen.processes.setdefault(pid, SeenProcess(pid))
                self._take_up(process, executable)
                for tid in tids:
                    self._sample(process, tid, now)
                if now >= self._looked.get(pid, 0.0):
                    begin = time.thread_time()
                    whole = self._look(process)
                    spent = time.thread_time() - begin
                    self._looking_s += spent
                    # a large program's maps are long: what they cost decides how often they are read
                    # while a program takes another's place it has no environment, for a moment, and then not yet its libraries
                    hasty = not (whole and process.runtime) and self._hasty.get(pid, 0) < _HASTY_LOOKS
                    self._hasty[pid] = self._hasty.get(pid, 0) + hasty
                    self._looked[pid] = now + (0.0 if hasty else max(_LOOK_AGAIN_S, spent / MOST_COST))
            waiting += children_of(pid)
        self.seen.samples += 1
        return any(Path(f"/proc/{pid}").exists() for pid in met)

    def _take_up(self, process: SeenProcess, executable: str) -> None:
        """Where a thread ran as `taskset` or `numactl`, before it was bound, is not where the program ran."""
        if executable and executable != process.executable:
            if process.executable:
                for tid in process.threads:
                    self._where.pop(tid, None)
                    self._before_ns[tid] = self._run_ns.get(tid, 0)
                process.threads.clear()
                process.environment, process.rank = {}, None
                self._looked.pop(process.pid, None)
                self._hasty.pop(process.pid, None)
                self._starts = min(self._starts + 1, _MOST_STARTS)
            process.executable = executable

    def _sample(self, process: SeenProcess, tid: int, now: float) -> None:
        folder = f"/proc/{process.pid}/task/{tid}"
        try:
            stat = read_stat(Path(f"{folder}/stat").read_text(errors="replace"))
            run_ns = _run_ns(folder, stat.cpu_s)
        except (OSError, InputError):
            return
        if stat.state in ("Z", "X"):
            return
        thread = process.threads.get(tid)
        if thread is None:
            thread = process.threads[tid] = SeenThread(tid, process.pid, stat.name, now, now)
            self._look_at_thread(thread, folder, now)
        # a runtime binds its threads early
        elif (
            now - self._looked.get(-tid, -1.0) >= min(_LOOK_AGAIN_S, (now - thread.first_s) / 2)
            or stat.processor not in thread.allowed
        ):
            self._look_at_thread(thread, folder, now)
        thread.name, thread.cpu_s = stat.name, (run_ns - self._before_ns.get(tid, 0)) / 1e9
        ran = run_ns > self._run_ns.get(tid, 0)
        self._run_ns[tid] = run_ns
        if ran:
            self._count(thread, stat.processor, now)
        thread.last_s = now

    def _count(self, thread: SeenThread, processor: int, now: float) -> None:
        thread.ran[processor] += 1
        if self._where.get(thread.tid, processor) != processor:
            thread.migrations += 1
        self._where[thread.tid] = processor
        if thread.allowed and processor not in thread.allowed:
            thread.strayed[processor] += 1
        if thread.track and thread.track[-1][2] == processor and thread.track[-1][1] >= thread.last_s - 1e-9:
            thread.track[-1] = (thread.track[-1][0], now, processor)
        else:
            thread.track.append((thread.last_s, now, processor))

    def _look_at_thread(self, thread: SeenThread, folder: str, now: float) -> None:
        with contextlib.suppress(OSError, InputError):
            thread.allowed = read_status(Path(f"{folder}/status").read_text(errors="replace")).allowed
            self._looked[-thread.tid] = now

    def _look(self, process: SeenProcess) -> bool:
        """What belongs to the process as a whole, which a program may have changed by exec; false where it has no environment, or none yet."""
        whole = False
        folder = Path(f"/proc/{process.pid}")
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            process.command = " ".join(w.decode(errors="replace") for w in words if w) or process.command
            # a process that is ending has none left, nor maps
            if environment := read_environment((folder / "environ").read_bytes()):
                whole = True
                process.rank = rank_of(environment)
                kept = binding_variables()
                process.environment = {
                    k: v for k, v in environment.items() if k.startswith(_KEPT_VARIABLES) or k in kept
                }
            maps = (folder / "maps").read_text(errors="replace")
            process.runtime = next((name for name in RUNTIMES if name in maps), process.runtime)
        try:
            mappings = read_numa_maps((folder / "numa_maps").read_text(errors="replace"))
            # a process that is ending has none left
            process.mappings = mappings or process.mappings
            memory = bytes_by_node(mappings)
            process.memory = {n: max(b, process.memory.get(n, 0)) for n, b in memory.items()} or process.memory
        except (OSError, InputError) as problem:
            if not process.memory:
                process.memory_missing = str(problem)
        return whole


def _run_ns(folder: str, cpu_s: float) -> int:
    """How long a thread has run, in nanoseconds: from schedstat, or in the kernel's ticks where there is none."""
    try:
        return int(Path(f"{folder}/schedstat").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return int(cpu_s * 1e9)
