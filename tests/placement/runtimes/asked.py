# SPDX-License-Identifier: BSD-3-Clause
"""A question of placement, put to a real runtime and to the model of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.machine.sources import load_machine
from nodewise.placement.job import Job
from nodewise.placement.resolve import Request, resolve
from tests.placement.runtimes import Ended, Told, ask_gnu, ask_intel, ask_llvm, made_up

Answer = list[list[int]] | None
_FIELDS = {
    "KMP_AFFINITY": "affinity",
    "KMP_HW_SUBSET": "subset",
    "OMP_PLACES": "places",
    "OMP_PROC_BIND": "bind",
    "KMP_PLACE_THREADS": "place_threads",
    "GOMP_CPU_AFFINITY": "gomp",
}


@dataclass(frozen=True)
class Case:
    """A machine, the variables, and how many threads."""

    machine: Machine
    env: dict[str, str]
    threads: int

    def to_json(self) -> dict[str, Any]:
        """As recorded; `allow` is null where all processors are."""
        some = len(self.machine.allowed) < len(self.machine.pus)
        return {
            "machine": self.machine.source,
            "allow": format_processors(self.machine.allowed) if some else None,
            "env": self.env,
            "threads": self.threads,
        }


def recorded(data: dict[str, Any]) -> Case:
    """A case read back."""
    machine = made_up.loaded(data["machine"]) if data["allow"] is None else load_machine(data["machine"], data["allow"])
    return Case(machine, data["env"], data["threads"])


def _gnu(dice: random.Random) -> Case:
    machine = made_up.machine(dice)
    return Case(machine, made_up.gnu_setting(dice, machine), made_up.threads(dice, machine))


def _intel(dice: random.Random) -> Case:
    # where processors' numbers have gaps the runtime itself mostly ends in hwloc_set_cpubind
    machine = made_up.machine(dice, gaps=False)
    return Case(machine, made_up.intel_setting(dice, machine), made_up.threads(dice, machine))


def _llvm(dice: random.Random) -> Case:
    machine = made_up.machine(dice, plain=True, gaps=False)
    return Case(machine, made_up.intel_setting(dice, machine), made_up.threads(dice, machine))


#: For each runtime what makes a case up, and what asks it.
RUNTIMES: dict[str, tuple[Callable[[random.Random], Case], Callable[..., Told]]] = {
    "gnu": (_gnu, ask_gnu),
    "intel": (_intel, ask_intel),
    "llvm": (_llvm, ask_llvm),
}


def made_up_case(runtime: str, dice: random.Random) -> Case:
    """A case for that runtime."""
    return RUNTIMES[runtime][0](dice)


def real(runtime: str, folder: Path, case: Case) -> tuple[Answer, str]:
    """What the runtime itself answers, None where it ends the program; and what it warns of."""
    try:
        told = RUNTIMES[runtime][1](folder, case.machine, case.env, case.threads)
    except Ended as problem:
        return None, str(problem)
    return [list(p) for p in told.places], told.warnings


def modelled(runtime: str, case: Case) -> tuple[Answer, list[str]]:
    """What the model answers, None where it refuses, and its words."""
    request = Request(runtime=runtime, **{_FIELDS[name]: text for name, text in case.env.items()})
    try:
        found = resolve(case.machine, Job(case.threads), request)
    except InputError as problem:
        return None, [problem.what]
    return [list(p) for p in found.placement.places], list(found.notes)
