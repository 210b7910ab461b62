# SPDX-License-Identifier: BSD-3-Clause
"""A question of placement, put to a real runtime and to the model of it."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.machine.sources import restrict
from nodewise.placement.job import Job
from nodewise.placement.openmp.runtimes import active
from nodewise.placement.registry import variable_texts
from nodewise.placement.resolve import Request, resolve
from tests.placement.runtimes import EndedError, Reported, ask_gnu, ask_intel, ask_llvm, made_up

RECORDED = Path(__file__).parent.parent / "recorded"
Answer = list[list[int]] | None


@dataclass(frozen=True)
class Case:
    """A machine, the variables, and how many threads; `name` is what a machine that is no synthetic text is recorded as.

    With `levels`, the threads of the teams of each level, `threads` is what all of those come to.
    """

    machine: Machine
    env: dict[str, str]
    threads: int
    name: str = ""
    levels: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As recorded; `allow` is null where all processors are."""
        some = len(self.machine.allowed) < len(self.machine.pus)
        return {
            "machine": self.name or self.machine.source,
            "allow": format_processors(self.machine.allowed) if some else None,
            "env": self.env,
            "threads": self.threads,
            **({"levels": list(self.levels)} if self.levels else {}),
        }


def recorded(data: dict[str, Any]) -> Case:
    """A case read back."""
    levels = tuple(data.get("levels", ()))
    return Case(_machine(data["machine"], data["allow"]), data["env"], data["threads"], data["machine"], levels)


def _machine(source: str, allow: str | None) -> Machine:
    machine = made_up.loaded(source)
    return machine if allow is None else restrict(machine, allow)


def _gnu(dice: random.Random) -> Case:
    machine = made_up.machine(dice)
    return Case(machine, made_up.gnu_setting(dice, machine), made_up.threads(dice, machine))


def _intel(dice: random.Random) -> Case:
    if dice.random() < 0.2:
        name, allow = made_up.uneven_machine(dice)
        uneven = _machine(name, allow)
        return Case(uneven, made_up.intel_setting(dice, uneven), made_up.threads(dice, uneven), name)
    # where processors' numbers have gaps the runtime itself mostly ends in hwloc_set_cpubind
    machine = made_up.machine(dice, gaps=False)
    return Case(machine, made_up.intel_setting(dice, machine), made_up.threads(dice, machine))


def _llvm(dice: random.Random) -> Case:
    machine = made_up.machine(dice, plain=True, gaps=False)
    return Case(machine, made_up.intel_setting(dice, machine), made_up.threads(dice, machine))


#: For each runtime what makes a case up, and what asks it.
RUNTIMES: dict[str, tuple[Callable[[random.Random], Case], Callable[..., Reported]]] = {
    "gnu": (_gnu, ask_gnu),
    "intel": (_intel, ask_intel),
    "llvm": (_llvm, ask_llvm),
}


def made_up_case(runtime: str, dice: random.Random, nested: bool = False) -> Case:
    """A case for that runtime, with teams within teams where `nested`."""
    case = RUNTIMES[runtime][0](dice)
    if not nested:
        return case
    levels = made_up.levels(dice)
    return replace(case, env=made_up.nested_setting(dice, case.env), threads=math.prod(levels), levels=levels)


def real(runtime: str, folder: Path, case: Case) -> tuple[Answer, str]:
    """What the runtime itself answers, None where it ends the program; and what it warns of."""
    try:
        count = {"OMP_NUM_THREADS": ",".join(map(str, case.levels))} if case.levels else {}
        asked = {**count, **case.env}
        reported = RUNTIMES[runtime][1](folder, case.machine, asked, case.threads, max(1, len(case.levels)))
    except EndedError as problem:
        return None, str(problem)
    return [list(p) for p in reported.places], reported.warnings


def agrees(mine: Answer, real: Answer, warned: str) -> bool:
    """Whether the model says what the runtime does; what it refuses, the runtime is to warn of, or end the program."""
    return mine == real or (mine is None and ("arning" in warned or "nvalid" in warned))


def misread(mine: Answer, real: Answer, why: list[str]) -> bool:
    """Whether a text that is spelt wrong is refused with the column, and the runtime takes some of it without a word."""
    return mine is None and real is not None and any(", column " in one for one in why)


def unanswered(real: Answer, warned: str) -> bool:
    """Whether Intel's runtime ended on a mask of its own that was never filled, as it does at random, mostly on one processor."""
    return real is None and "hwloc_set_cpubind() failed" in warned


def modelled(runtime: str, case: Case) -> tuple[Answer, list[str]]:
    """What the model answers, None where it refuses, and its words."""
    names = {name: text.name for name, text in variable_texts().items()} | {
        "OMP_MAX_ACTIVE_LEVELS": "max_active_levels"
    }
    request = Request(runtime=runtime, **{names[name]: text for name, text in case.env.items()})
    try:
        request, _ = active(request, case.levels or (case.threads,))
        found = resolve(case.machine, Job(math.prod(request.levels or (case.threads,))), request)
    except InputError as problem:
        return None, [problem.what]
    return [list(p) for p in found.placement.places], list(found.notes)


def differing(runtime: str, folder: Path, cases: int, seed: str, nested: bool = False) -> list[str]:
    """Asks both of cases made up from a seed; a line for each that differs."""
    dice = random.Random(seed)
    found = []
    for _ in range(cases):
        case = made_up_case(runtime, dice, nested)
        (reported, warned), (mine, why) = real(runtime, folder, case), modelled(runtime, case)
        same = agrees(mine, reported, warned) or misread(mine, reported, why)
        if not same and not unanswered(reported, warned):
            found.append(f"{case.to_json()}: {reported}, modelled {mine} {why}")
    return found


def differing_from_recorded(runtime: str, name: str) -> list[str]:
    """Asks the model of each recorded case; a line for each that differs. What is refused was warned of."""
    found = []
    for line in (RECORDED / name).read_text().splitlines():
        data = json.loads(line)
        mine, why = modelled(runtime, recorded(data))
        if mine != data["places"] and not (mine is None and data["warned"]):
            found.append(f"{line}: modelled {mine} {why}")
    return found
