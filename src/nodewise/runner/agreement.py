# SPDX-License-Identifier: BSD-3-Clause
"""Agreement: whether threads were bound, and ran, where that was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.placement.environment import environment_request, heeded_environment
from nodewise.placement.job import Job
from nodewise.placement.resolve import resolve
from nodewise.runner.observe import Observation, SeenProcess, SeenThread

Places = Sequence[tuple[int, ...]]


@dataclass
class ProcessAgreement:
    """Of one process: `asked` are the places, None where nothing is known of them; a word for each thread, by tid.

    `misplaced` says whether a thread is bound to other processors than its place's, also one that did not run.
    """

    asked: tuple[tuple[int, ...], ...] | None
    asked_by: str = ""
    words: dict[int, str] = field(default_factory=dict)
    agrees: bool | None = None
    misplaced: bool = False


@dataclass
class Agreement:
    """Verdicts by process, and what is worth knowing of all together."""

    verdicts: dict[int, ProcessAgreement]
    findings: list[str]

    @property
    def agrees(self) -> bool | None:
        """Whether all that was asked for was so; None where nothing was asked for."""
        known = [v.agrees for v in self.verdicts.values() if v.agrees is not None]
        return all(known) if known else None


def agreement(machine: Machine, seen: Observation, expected: Sequence[Places] | None = None) -> Agreement:
    """Compare with `expected` (the places of each local rank's threads), or with what each process's variables ask for."""
    verdicts: dict[int, ProcessAgreement] = {}
    workers = [p for p in seen.working if expected is None or _is_worker(p, seen, expected)]
    for number, process in enumerate(workers):
        if expected is not None:
            places = expected[(process.rank if process.rank is not None else number) % len(expected)]
            verdict = ProcessAgreement(tuple(places), "the plan")
        else:
            verdict = _from_environment(machine, process)
        _judge(machine, process, verdict)
        verdicts[process.pid] = verdict
    return Agreement(verdicts, _findings(machine, workers, verdicts))


def _is_worker(process: SeenProcess, seen: Observation, expected: Sequence[Places]) -> bool:
    """A launcher, shell or helper that runs along with the ranks is not meant by a plan."""
    ranks = [p for p in seen.working if p.rank is not None]
    if ranks:
        return process.rank is not None and not any(p.rank == process.rank and _heavier(p, process) for p in ranks)
    return not any(_heavier(p, process) for p in seen.working) if len(expected) == 1 else True


def _heavier(one: SeenProcess, other: SeenProcess) -> bool:
    return sum(t.cpu_s for t in one.threads.values()) > sum(t.cpu_s for t in other.threads.values())


def _from_environment(machine: Machine, process: SeenProcess) -> ProcessAgreement:
    heeded = heeded_environment(process.environment, process.runtime)
    if not heeded:
        return ProcessAgreement(None)
    try:
        request = environment_request(heeded, process.runtime)
        placed = resolve(machine, Job(len(process.threads)), request).placement
    except InputError as problem:
        return ProcessAgreement(None, f"cannot be read: {problem.what}")
    return ProcessAgreement(placed.places, " ".join(f"{k}={v}" for k, v in heeded.items()))


def _judge(machine: Machine, process: SeenProcess, verdict: ProcessAgreement) -> None:
    everything = tuple(sorted(machine.allowed))
    right = True
    for number, thread in enumerate(process.in_order):
        place = None if verdict.asked is None or number >= len(verdict.asked) else tuple(sorted(verdict.asked[number]))
        verdict.words[thread.tid] = _word(thread, place, everything)
        if place is None:
            continue
        verdict.misplaced |= not thread.strayed and thread.allowed != place
        if thread.ran:
            right &= thread.allowed == place and not thread.strayed
    if verdict.asked is not None:
        verdict.agrees = right


def _word(thread: SeenThread, place: tuple[int, ...] | None, everything: tuple[int, ...]) -> str:
    if thread.strayed:
        return f"ran on {format_processors(thread.strayed)}, outside of what it may use"
    if place is None:
        return "not bound" if thread.allowed == everything else ""
    if thread.allowed == place:
        return "as asked"
    if thread.allowed == everything:
        return f"not bound; asked was {format_processors(place)}"
    return f"asked was {format_processors(place)}"


def _findings(machine: Machine, processes: Sequence[SeenProcess], verdicts: dict[int, ProcessAgreement]) -> list[str]:
    found = []
    crowd = _crowded(machine, processes)
    if crowd:
        found.append(crowd)
    ranks = [p for p in processes if p.rank is not None]
    masks = {p.pid: {q for t in p.threads.values() if t.ran for q in t.allowed} for p in ranks}
    sets = {tuple(sorted(m)) for m in masks.values() if m}
    if len(ranks) > 1 and len(sets) == 1:
        (only,) = sets
        if len(only) < len(machine.allowed):
            found.append(f"all {len(ranks)} ranks sit on the same processors, {format_processors(only)}")
    for process in processes:
        found += _narrowed(process, verdicts[process.pid])
        main, rest = process.in_order[0], process.in_order[1:]
        if (
            process.runtime == "libgomp"
            and rest
            and len(main.allowed) < len(machine.allowed)
            and not verdicts[process.pid].asked
        ):
            found.append(f"process {process.pid}: the main thread is held to {format_processors(main.allowed)}")
    return found


def _narrowed(process: SeenProcess, verdict: ProcessAgreement) -> list[str]:
    """A process that may not use what its places name: another layer came over them."""
    may = {q for t in process.threads.values() for q in t.allowed}
    asked = {q for place in verdict.asked or () for q in place}
    if not asked or not may or asked <= may or not verdict.misplaced:
        return []
    return [
        f"process {process.pid} may use only {format_processors(may)}, and its places ask for {format_processors(asked)}: "
        "a mask, cpuset or second layer that binds came over them"
    ]


def _crowded(machine: Machine, processes: Sequence[SeenProcess]) -> str:
    """Threads bound to one processor together while others had none."""
    bound: dict[int, int] = {}
    used: set[int] = set()
    for process in processes:
        for thread in process.threads.values():
            used.update(thread.ran)
            if thread.ran and len(thread.allowed) == 1:
                bound[thread.allowed[0]] = bound.get(thread.allowed[0], 0) + 1
    crowded = {p: n for p, n in bound.items() if n > 1}
    idle = set(machine.allowed) - used
    if not crowded or not idle:
        return ""
    most = max(crowded, key=lambda p: crowded[p])
    return (
        f"{crowded[most]} threads are bound to processor {most}"
        + (f", and several to each of {len(crowded) - 1} more" if len(crowded) > 1 else "")
        + f", while nothing ran on {format_processors(idle)}"
    )
