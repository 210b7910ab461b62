# SPDX-License-Identifier: BSD-3-Clause
"""Traps: what is known to go wrong with placements, found and named before a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nodewise.base.errors import InputError
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.placement.dialects.gnu_text import read_gomp
from nodewise.placement.dialects.kmp_affinity import read_affinity
from nodewise.placement.dialects.kmp_subset import read_subset
from nodewise.placement.dialects.openmp import read_bind, read_places
from nodewise.placement.facts import placement_facts
from nodewise.placement.placement import Placement
from nodewise.placement.resolve import LAUNCHERS, Request

#: Variables by which launchers and other tools bind a process; a second layer then pins over the first.
OTHER_LAYERS = {
    "SLURM_CPU_BIND": "srun binds its tasks",
    "I_MPI_PIN_DOMAIN": "Intel MPI pins ranks",
    "I_MPI_PIN_PROCESSOR_LIST": "Intel MPI pins ranks",
    "MV2_CPU_MAPPING": "MVAPICH2 binds ranks",
    "LIKWID_PIN": "likwid-pin binds threads as they are created",
    "OMPI_MCA_hwloc_base_binding_policy": "Open MPI binds ranks",
    "PRTE_MCA_hwloc_default_binding_policy": "Open MPI binds ranks",
    "PALS_CPU_BIND": "PALS binds ranks",
}
_READERS = {
    "OMP_PLACES": read_places,
    "OMP_PROC_BIND": read_bind,
    "KMP_AFFINITY": read_affinity,
    "KMP_HW_SUBSET": read_subset,
    "GOMP_CPU_AFFINITY": read_gomp,
}


@dataclass(frozen=True)
class Trap:
    """`name` is stable, for programs; `what` says what goes wrong; `hint` what to do about it."""

    name: str
    what: str
    hint: str

    def __str__(self) -> str:
        return f"{self.what}; {self.hint}"


def find_traps(
    machine: Machine, placement: Placement, request: Request, environment: Mapping[str, str] | None = None
) -> list[Trap]:
    """The traps of a placement on a machine, asked for in these words, started from this environment."""
    found = [
        *_stacked(machine, placement),
        *_families(request),
        *_narrowed(request, placement),
        *_too_few(machine, placement),
        *_oversubscribed(machine, placement),
        *_layers(machine, request, environment or {}),
    ]
    return found + (environment_traps(environment) if environment else [])


def environment_traps(environment: Mapping[str, str]) -> list[Trap]:
    """Traps in the variables that a program would inherit: values that its runtime ignores, families that fight."""
    found = []
    for name, read in _READERS.items():
        if environment.get(name):
            try:
                read(environment[name])
            except InputError as problem:
                hint = f": {problem.hint}" if problem.hint else ""
                found.append(
                    Trap("invalid value", f"a runtime ignores {problem.what}", f"correct or unset {name}{hint}")
                )
    if environment.get("KMP_AFFINITY") and (environment.get("OMP_PROC_BIND") or environment.get("OMP_PLACES")):
        found.append(_silenced("KMP_AFFINITY", "OMP_PROC_BIND and OMP_PLACES", "Intel's and LLVM's"))
    if environment.get("GOMP_CPU_AFFINITY") and environment.get("OMP_PLACES"):
        found.append(_silenced("OMP_PLACES", "GOMP_CPU_AFFINITY", "GNU's"))
    return found


def _silenced(winner: str, loser: str, whose: str) -> Trap:
    return Trap("silenced", f"{winner} silences {loser} in {whose} runtime", "set one family and clear the other")


def _stacked(machine: Machine, placement: Placement) -> list[Trap]:
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
    return [
        Trap(
            "stacked ranks",
            f"{ranks} ranks of a node sit on the same processors, {format_processors(zone)}, while {facts.idle_cores} "
            "cores are idle: OpenMP's places start anew in each rank that its launcher does not bind",
            "have the launcher bind ranks (--slurm, --openmpi, --mpich, --aprun), or start each through --to omp's script",
        )
    ]


def _families(request: Request) -> list[Trap]:
    if request.gomp is not None and request.places is not None:
        return [_silenced("OMP_PLACES", "GOMP_CPU_AFFINITY", "GNU's")]
    if request.affinity is not None and (request.places is not None or request.bind is not None):
        return [_silenced("KMP_AFFINITY", "OMP_PROC_BIND and OMP_PLACES", "Intel's and LLVM's")]
    return []


def _narrowed(request: Request, placement: Placement) -> list[Trap]:
    """GNU's runtime binds the main thread too, for good."""
    gnu = request.gomp is not None or request.runtime == "gnu"
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


def _too_few(machine: Machine, placement: Placement) -> list[Trap]:
    found = []
    allowed = set(machine.allowed)
    outside = {p for place in placement.places for p in place} - allowed
    if outside:
        found.append(
            Trap(
                "mask narrower than plan",
                f"the plan uses processors {format_processors(outside)}, and this process may use only "
                f"{format_processors(allowed)} (by its cpuset, Slurm's mask, or taskset)",
                "ask for the whole node, or plan with --allow",
            )
        )
    elif len(allowed) < len(machine.pus) and placement.threads > len(allowed):
        found.append(
            Trap(
                "mask narrower than plan",
                f"{placement.threads} threads are to share the {len(allowed)} processors {format_processors(allowed)} that this "
                f"process may use of {len(machine.pus)} (by its cpuset, Slurm's mask, or taskset)",
                f"use at most {len(allowed)} threads, or ask for more processors",
            )
        )
    quota = machine.limits.cpu_quota
    if quota is not None and quota < placement.threads:
        found.append(
            Trap(
                "quota below threads",
                f"a CPU quota of {quota:g} processors holds {placement.threads} threads back, wherever they sit: "
                "all of them stop for the rest of each period once it is used up",
                f"use at most {max(1, int(quota))} threads, or raise the quota",
            )
        )
    return found


def _oversubscribed(machine: Machine, placement: Placement) -> list[Trap]:
    """More threads than processors under them, on all of the machine or where they are bound."""
    used = len(placement.mask)
    if placement.threads <= used:
        return []
    there = len(machine.allowed)
    if placement.threads > there and there < len(machine.pus):
        # a mask narrower than the plan is reported
        return []
    whose = f"the {used} processors" if used > 1 else "the one processor"
    where = "that may be used" if used == there else f"{format_processors(placement.mask)} that they are bound to"
    return [
        Trap(
            "oversubscribed",
            f"{placement.threads} threads are to share {whose} {where}: they take turns, and wherever they wait for one "
            "another, all wait for the last",
            f"use at most {used} threads"
            + (f", or spread them over the {there} that may be used" if used < there else ""),
        )
    ]


def _layers(machine: Machine, request: Request, environment: Mapping[str, str]) -> list[Trap]:
    """Two layers that each bind: the inner one wins, often without a word."""
    given = request.given()
    launcher = next((name for name in LAUNCHERS if name in given), None)
    found = []
    over = next((name for name in ("taskset", "hwloc") if name in given), None)
    if launcher and over:
        found.append(
            Trap(
                "second layer",
                f"{over} sets the mask of every rank anew: what {launcher} bound it to is lost",
                "leave one of the two out, or let the launcher bind to nothing",
            )
        )
    if "norespect" in (request.affinity or ""):
        found.append(
            Trap(
                "second layer",
                "norespect has the runtime bind over the mask that launcher or taskset gave the process",
                "use respect, which is the default",
            )
        )
    if given:
        for name, what in OTHER_LAYERS.items():
            value = environment.get(name, "")
            if value and value.lower() not in ("none", "quiet", "off"):
                found.append(
                    Trap("second layer", f"{name}={value}: {what} as well", f"unset {name}, or place by it alone")
                )
        if "likwid" in environment.get("LD_PRELOAD", ""):
            found.append(
                Trap("second layer", "LD_PRELOAD has likwid's library, which binds threads as well", "unset it")
            )
    return found
