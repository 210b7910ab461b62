# SPDX-License-Identifier: BSD-3-Clause
"""Watch: two looks at the system's counters, and what happened between them: who ran where, and what interrupted."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path

from nodewise.base.frozen import dataclass
from nodewise.machine.cgroups import read_throttling
from nodewise.machine.files import first_match, read_text
from nodewise.machine.surroundings import read_throttled

_TICKS = os.sysconf("SC_CLK_TCK")
#: PF_KTHREAD of include/linux/sched.h: the process is a thread of the kernel.
_KERNEL_THREAD = 0x00200000


@dataclass(frozen=True, slots=True)
class _Process:
    name: str
    parent: int
    processor: int
    cpu_s: float
    of_kernel: bool


@dataclass(frozen=True)
class Look:
    """Counters at one moment, all of them rising: seconds by processor, interrupts by processor and name, events."""

    at_s: float
    busy_s: Mapping[int, float] = field(default_factory=dict)
    steal_s: Mapping[int, float] = field(default_factory=dict)
    interrupts: Mapping[str, tuple[str, Mapping[int, int]]] = field(default_factory=dict)
    processes: Mapping[tuple[int, int], _Process] = field(default_factory=dict)
    pressure_s: Mapping[str, float] = field(default_factory=dict)
    throttled: Mapping[str, int] = field(default_factory=dict)
    quota_s: float | None = None
    paged: int = 0


@dataclass(frozen=True)
class Busy:
    """A process that ran while it was watched: `cpu_s` of processor time; `processors` are those where it was seen last."""

    pid: int
    name: str
    cpu_s: float
    processors: tuple[int, ...]
    of_kernel: bool = False


@dataclass(frozen=True)
class Interrupts:
    """A source of interrupts: its line in /proc/interrupts, what it is, and how many came to each processor."""

    line: str
    name: str
    counts: Mapping[int, int]

    @property
    def device(self) -> bool:
        """Whether a device makes them, and they can be sent elsewhere; the others are the kernel's own."""
        return self.line.isdigit()


@dataclass(frozen=True)
class Watched:
    """What happened in `seconds`, on all processors that are on.

    `quota_s` is how long the cgroup was held back, `own_s` the processor time of the process that watched, and of what it
    started: it is in `busy_s`, and not among the `busiest`.
    """

    seconds: float
    busy_s: Mapping[int, float]
    steal_s: Mapping[int, float]
    interrupts: tuple[Interrupts, ...]
    busiest: tuple[Busy, ...]
    pressure_s: Mapping[str, float]
    throttled: Mapping[str, int]
    quota_s: float | None
    paged: int
    own_s: float = 0.0

    def unseen_s(self, processors: Iterable[int]) -> float:
        """Busy time on the processors that no process seen here accounts for."""
        return max(0.0, self.others_s(processors) - sum(b.cpu_s for b in self.busiest))

    def others_s(self, processors: Iterable[int]) -> float:
        """Busy time on the processors without this program's own, which was on any of them."""
        return max(0.0, sum(self.busy_s.get(p, 0.0) for p in processors) - self.own_s)


def processor_times(text: str) -> tuple[dict[int, float], dict[int, float]]:
    """Busy and stolen seconds of each processor from the text of /proc/stat, proc_stat(5)."""
    busy, steal = {}, {}
    for line in text.splitlines():
        words = line.split()
        if not words or not words[0].startswith("cpu"):
            break
        if words[0] == "cpu" or len(words) < 9:
            continue
        user, nice, system, _, _, irq, softirq, stolen = (int(w) / _TICKS for w in words[1:9])
        busy[int(words[0][3:])] = user + nice + system + irq + softirq
        steal[int(words[0][3:])] = stolen
    return busy, steal


def _interrupts(text: str) -> dict[str, tuple[str, dict[int, int]]]:
    """Lines of /proc/interrupts: the counts of each processor that the first line names, then what they are of."""
    lines = text.splitlines()
    if not lines:
        return {}
    processors = [int(w[3:]) for w in lines[0].split() if w.startswith("CPU") and w[3:].isdigit()]
    found = {}
    for line in lines[1:]:
        name, colon, rest = line.partition(":")
        words = rest.split()
        counts = words[: len(processors)]
        if colon and len(counts) == len(processors) and all(c.isdigit() for c in counts):
            what = words[len(processors) :]
            # a device's line names its chip, its pin and itself
            label = what[-1] if name.strip().isdigit() and what else " ".join(what)
            found[name.strip()] = (label, dict(zip(processors, map(int, counts), strict=True)))
    return found


def _process(text: str) -> tuple[int, _Process] | None:
    """The start time and the rest of a line of /proc/PID/stat, proc_pid_stat(5)."""
    opening, closing = text.find("("), text.rfind(")")
    words = text[closing + 1 :].split()
    if not 0 < opening < closing or len(words) < 37:
        return None
    return int(words[19]), _Process(
        name=text[opening + 1 : closing],
        parent=int(words[1]),
        processor=int(words[36]),
        cpu_s=(int(words[11]) + int(words[12])) / _TICKS,
        of_kernel=bool(int(words[6]) & _KERNEL_THREAD),
    )


def _processes(root: Path) -> dict[tuple[int, int], _Process]:
    found = {}
    for path in (root / "proc").glob("[0-9]*"):
        seen = _process(read_text(path / "stat") or "")
        if seen is not None:
            found[int(path.name), seen[0]] = seen[1]
    return found


def look(root: Path, at_s: float, processors: Iterable[int]) -> Look:
    """Read all counters below `root` at the moment `at_s` (seconds of any clock that only rises)."""
    busy, steal = processor_times(read_text(root / "proc/stat") or "")
    pressure = {}
    for what in ("cpu", "memory", "io"):
        total = first_match(r"^some .*total=(\d+)", read_text(root / "proc/pressure" / what) or "")
        if total is not None:
            pressure[what] = int(total) * 1e-6
    vmstat = read_text(root / "proc/vmstat") or ""
    paged = sum(int(first_match(rf"^{name} (\d+)", vmstat) or 0) for name in ("pswpin", "pswpout"))
    return Look(
        at_s=at_s,
        busy_s=busy,
        steal_s=steal,
        interrupts=_interrupts(read_text(root / "proc/interrupts") or ""),
        processes=_processes(root),
        pressure_s=pressure,
        throttled=read_throttled(root, processors),
        quota_s=read_throttling(root),
        paged=paged,
    )


def _rose(before: Mapping[int, float], after: Mapping[int, float]) -> dict[int, float]:
    return {p: max(0.0, s - before[p]) for p, s in after.items() if p in before}


def _own(after: Look, own: int) -> set[int]:
    """A process and all that it started."""
    parents = {pid: p.parent for (pid, _), p in after.processes.items()}
    found = {own}
    while True:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        if not more:
            return found
        found |= more


def _where(root: Path, pid: int, last: int) -> tuple[int, ...]:
    """The processors on which a process's threads that want to run were last."""
    seen = set()
    for path in (root / "proc" / str(pid) / "task").glob("[0-9]*/stat"):
        text = read_text(path) or ""
        words = text[text.rfind(")") + 1 :].split()
        if len(words) >= 37 and words[0] == "R":
            seen.add(int(words[36]))
    return tuple(sorted(seen)) or (last,)


def difference(root: Path, before: Look, after: Look, own: int = 0) -> Watched:
    """What happened between two looks; `own` is a process that is left out, with all that it started."""
    mine = _own(after, own) if own else set()
    busiest, own_s = [], 0.0
    for key, process in after.processes.items():
        then = before.processes.get(key)
        ran = process.cpu_s - (then.cpu_s if then else 0.0)
        if key[0] in mine:
            own_s += ran
        elif ran > 0:
            where = _where(root, key[0], process.processor)
            busiest.append(Busy(key[0], process.name, ran, where, process.of_kernel))
    sources = []
    for line, (name, counts) in after.interrupts.items():
        earlier = before.interrupts.get(line, ("", {}))[1]
        rose = {p: n - earlier.get(p, 0) for p, n in counts.items() if n > earlier.get(p, 0)}
        if rose:
            sources.append(Interrupts(line, name, rose))
    quota = None if after.quota_s is None or before.quota_s is None else after.quota_s - before.quota_s
    return Watched(
        seconds=after.at_s - before.at_s,
        busy_s=_rose(before.busy_s, after.busy_s),
        steal_s=_rose(before.steal_s, after.steal_s),
        interrupts=tuple(sorted(sources, key=lambda s: -sum(s.counts.values()))),
        busiest=tuple(sorted(busiest, key=lambda b: -b.cpu_s)),
        pressure_s={k: v - before.pressure_s[k] for k, v in after.pressure_s.items() if k in before.pressure_s},
        throttled={k: n - before.throttled[k] for k, n in after.throttled.items() if n > before.throttled.get(k, n)},
        quota_s=quota,
        paged=after.paged - before.paged,
        own_s=own_s,
    )
