# SPDX-License-Identifier: BSD-3-Clause
"""Traps: what is known to go wrong with placements, found and named before a run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from nodewise.base.errors import InputError
from nodewise.base.lists import listed
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.placement.dialect import Silence, Trap
from nodewise.placement.facts import placement_facts
from nodewise.placement.openmp.runtimes import whose
from nodewise.placement.placement import Placement
from nodewise.placement.registry import all_dialects, all_texts, launchers, variable_texts
from nodewise.placement.resolve import Request


def find_traps(
    machine: Machine, placement: Placement, request: Request, environment: Mapping[str, str] | None = None
) -> list[Trap]:
    """The traps of a placement on a machine, asked for by this request, started from this environment."""
    found = [
        *_stacked(machine, placement, request),
        *_silenced(request.texts, request.runtime if request.runtime_named else ""),
        *_narrowed(request, placement),
        *_too_few(machine, placement, request),
        *_oversubscribed(machine, placement),
        *_layers(request, environment or {}),
        *_own(machine, placement, request, environment or {}),
    ]
    return found + (environment_traps(environment) if environment else [])


def environment_traps(environment: Mapping[str, str]) -> list[Trap]:
    """Traps in the variables that a program would inherit: values that its runtime ignores, families that fight."""
    found = []
    for name, text in variable_texts().items():
        if environment.get(name) and text.read is not None:
            try:
                text.read(environment[name])
            except InputError as problem:
                hint = f": {problem.hint}" if problem.hint else ""
                found.append(
                    Trap("invalid value", f"a runtime ignores {problem.what}", f"correct or unset {name}{hint}")
                )
    return found + _silenced([text.name for name, text in variable_texts().items() if environment.get(name)])


def _silenced(given: Collection[str], runtime: str = "") -> list[Trap]:
    """Texts that are ignored because of another, by the runtime that is named, or by any."""
    silences = (
        silence
        for dialect in all_dialects()
        for silence in dialect.silences
        if not runtime or not silence.runtimes or runtime in silence.runtimes
    )
    found = ((s, [loser for loser in s.losers if loser in given]) for s in silences if s.winner in given)
    return [_silence(silence, losers) for silence, losers in found if losers]


def _silence(silence: Silence, losers: Sequence[str]) -> Trap:
    names = {text.name: text.variable or text.option for text in all_texts().values()}
    where = f" in {whose(silence.runtimes)} runtime" if silence.runtimes else ""
    return Trap(
        "silenced",
        f"{names[silence.winner]} silences {listed([names.get(loser, loser) for loser in losers])}{where}",
        "set one family and clear the other",
    )


def _stacked(machine: Machine, placement: Placement, request: Request) -> list[Trap]:
    """Ranks that sit on the same processors while others are idle."""
    zones = placement.used
    if len(zones) < 2:
        return []
    facts = placement_facts(machine, placement)
    same: dict[tuple[int, ...], int] = {}
    for zone in zones:
        same[zone] = same.get(zone, 0) + 1
    zone, ranks = max(same.items(), key=lambda item: item[1])
    everything = set(zone) == set(machine.allowed)
    if ranks < 2 or facts.idle_cores == 0 or everything:
        return []
    idle = "1 core is" if facts.idle_cores == 1 else f"{facts.idle_cores} cores are"
    launcher = next((d for d in request.dialects() if d.launch is not None), None)
    if launcher is not None:
        return [
            Trap(
                "stacked ranks",
                f"{ranks} ranks of a node sit on the same processors, {format_processors(zone)}, while {idle} "
                f"idle: {launcher.texts[0].option}'s options have them there",
                "have each rank bound to cores of its own",
            )
        ]
    options = ", ".join(dialect.texts[0].option for dialect in launchers())
    return [
        Trap(
            "stacked ranks",
            f"{ranks} ranks of a node sit on the same processors, {format_processors(zone)}, while {idle} "
            "idle: OpenMP's places start again in each rank that its launcher does not bind",
            f"have the launcher bind ranks ({options}), or start each through --to omp's script",
        )
    ]


def _narrowed(request: Request, placement: Placement) -> list[Trap]:
    """GNU's runtime binds the main thread too, for good."""
    gnu = request.runtime == "gnu"
    first = placement.by_rank[0]
    if not gnu or len(set(first)) < 2:
        return []
    return [
        Trap(
            "main thread narrowed",
            f"GNU's runtime binds the main thread to its place, {format_processors(first[0])}, as soon as it starts: "
            "programs and threads that the main thread starts later inherit that",
            "start them before, or widen their mask yourself",
        )
    ]


def _too_few(machine: Machine, placement: Placement, request: Request) -> list[Trap]:
    found = []
    allowed = set(machine.allowed)
    by = "by --allow" if machine.narrowed else "by its cpuset, Slurm's mask, or taskset"
    outside = {p for place in placement.places for p in place} - allowed
    # a mask that is set anew holds as far as the cpuset goes
    anew = any(d.mask is not None and d.replaces for d in request.dialects())
    if outside and not anew:
        found.append(
            Trap(
                "mask narrower than plan",
                f"the plan uses processors {format_processors(outside)}, and this process may use only "
                f"{format_processors(allowed)} ({by})",
                "ask for the whole node, or plan with --allow",
            )
        )
    if not outside and len(allowed) < len(machine.pus) and placement.threads > len(allowed):
        found.append(
            Trap(
                "mask narrower than plan",
                f"{placement.threads} threads are to share {_processors(len(allowed))} {format_processors(allowed)} that this "
                f"process may use of {len(machine.pus)} ({by})",
                f"use at most {_threads(len(allowed))}, or ask for more processors",
            )
        )
    quota = machine.limits.cpu_quota
    if quota is not None and quota < placement.threads:
        found.append(
            Trap(
                "quota below threads",
                f"a CPU quota of {quota:g} processor{'s' * (quota != 1)} holds {_threads(placement.threads)} back, wherever they sit: "
                "all of them stop for the rest of each period once it is used up",
                f"use at most {_threads(max(1, int(quota)))}, or raise the quota",
            )
        )
    return found


def _threads(count: int) -> str:
    return f"{count} thread{'s' * (count != 1)}"


def _processors(count: int) -> str:
    return f"the {count} processors" if count > 1 else "the one processor"


def _oversubscribed(machine: Machine, placement: Placement) -> list[Trap]:
    """More threads than processors under them, on all of the machine or where they are bound."""
    used = len(placement.mask)
    if placement.threads <= used:
        return []
    there = len(machine.allowed)
    if placement.threads > there and there < len(machine.pus):
        # a mask narrower than the plan is reported
        return []
    where = "that may be used" if used == there else f"{format_processors(placement.mask)} that they are bound to"
    return [
        Trap(
            "oversubscribed",
            f"{placement.threads} threads are to share {_processors(used)} {where}: they take turns, and wherever they wait for one "
            "another, all wait for the last",
            f"use at most {_threads(used)}"
            + (f", or spread them over the {there} that may be used" if used < there else ""),
        )
    ]


def _layers(request: Request, environment: Mapping[str, str]) -> list[Trap]:
    """Two layers that each bind: the inner one wins, often without a warning."""
    given = request.dialects()
    launcher = next((d.name for d in given if d.launch is not None), None)
    found = []
    over = next((d.name for d in given if d.mask is not None and d.replaces), None)
    if launcher and over:
        found.append(
            Trap(
                "second layer",
                f"{over} replaces the mask of every rank: what {launcher} bound it to is lost",
                "leave one of the two out, or let the launcher bind to nothing",
            )
        )
    for name, what in _pins().items() if request.given() else ():
        value = environment.get(name, "")
        if value and value.lower() not in ("none", "quiet", "off"):
            found.append(Trap("second layer", f"{name}={value}: {what} as well", f"unset {name}, or place by it alone"))
    return found


def _pins() -> dict[str, str]:
    return {name: what for dialect in all_dialects() for name, what in dialect.pins.items()}


def _own(machine: Machine, placement: Placement, request: Request, environment: Mapping[str, str]) -> list[Trap]:
    """The traps that dialects bring."""
    asked = (d.traps for d in all_dialects() if d.traps is not None)
    return [trap for traps in asked for trap in traps(machine, placement, request, environment)]
