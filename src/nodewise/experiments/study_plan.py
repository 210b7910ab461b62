# SPDX-License-Identifier: BSD-3-Clause
"""What is settled before a study's first run, and stored with its question: how large it is, and which limits are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from typing import Any

from nodewise.base.frozen import dataclass
from nodewise.base.units import format_seconds, whole_duration
from nodewise.machine.model import Machine
from nodewise.placement.policies import place
from nodewise.records.kept_limits import (
    KeptLimit,
    forget_limit,
    keep_limit,
    kept_limits,
    limit_from_json,
    machine_state,
    measured_limit,
)
from nodewise.statistics.disturbance import disturbance
from nodewise.statistics.sequential import FEWEST_BLOCKS
from nodewise.studies.commands import work_of
from nodewise.studies.discovery import Found, find_study
from nodewise.studies.machine_limits import (
    BANDWIDTH,
    MachineLimit,
    default_size,
    machine_limits,
    measures_memory,
    seconds_at,
    sized_point,
)
from nodewise.verdicts.series import Series, beyond_limits

#: Runs of all contenders, and those that measure memory, may take these shares of the budget.
_RUNS_SHARE, _LIMIT_SHARE = 0.7, 1 / 3


@dataclass(frozen=True)
class StudyPlan:
    """A study's `point` with its sizes, its limits that are `kept` from earlier, and those `left_out` with the reason.

    `limit_s` is how many seconds a run may take that measures memory.
    """

    point: Mapping[str, str]
    limit_s: float
    kept: Mapping[str, KeptLimit] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """All fields as plain values."""
        return asdict(self)


def plan_from_json(data: Mapping[str, Any]) -> StudyPlan:
    """Rebuild one from `StudyPlan.to_json`. Raises ShapeError, KeyError or TypeError where it is none."""
    kept = {name: limit_from_json(one) for name, one in data["kept"].items()}
    return StudyPlan(dict(data["point"]), float(data["limit_s"]), kept, dict(data["left_out"]))


def plan_study(
    found: Found,
    point: Mapping[str, str],
    machine: Machine,
    threads: int,
    contenders: int,
    seconds: float,
    firm: bool,
    ranks: int = 1,
) -> StudyPlan:
    """What so many contenders and a budget of so many seconds allow; one that is `firm` is not exceeded for a limit's sake.

    `threads` are those of all ranks.
    """
    each_s = _RUNS_SHARE * seconds / (FEWEST_BLOCKS * max(1, contenders))
    limit_s = _LIMIT_SHARE * seconds / FEWEST_BLOCKS
    point = sized_point(found, point, machine, each_s, threads)
    kept: dict[str, KeptLimit] = {}
    left_out: dict[str, str] = {}
    work = work_of(found, point, threads // ranks, ranks) if found.study.limits else {}
    for one in limits_of(found, point, machine, threads, work, limit_s):
        name = one.contender.name
        if not one.memory:
            continue
        if (known := kept_limits(_state(one.limit.study, machine, threads), threads).get(name)) is not None:
            kept[name] = known
        elif firm and one.seconds > limit_s:
            whole_s = FEWEST_BLOCKS * one.seconds / _LIMIT_SHARE
            left_out[name] = (
                f"memory's bandwidth was not measured on this machine yet, which takes about "
                f"{format_seconds(FEWEST_BLOCKS * one.seconds)}: --budget {whole_duration(whole_s)} does it, once"
            )
    return StudyPlan(point, limit_s, kept, left_out)


def limits_of(
    found: Found,
    point: Mapping[str, str],
    machine: Machine,
    threads: int,
    work: Mapping[str, float],
    limit_s: float,
) -> list[MachineLimit]:
    """The machine's limits of a study at a point, which is so much work."""
    if not found.study.limits:
        return []
    return machine_limits(found, machine, threads, work, limit_s)


def told_of_size(
    found: Found, asked: Mapping[str, str], point: Mapping[str, str], machine: Machine, threads: int, contenders: int
) -> list[str]:
    """What has to be said where a budget, and not who `asked`, had the arrays of study `bandwidth` fit the caches."""
    if dict(asked) == dict(point) or measures_memory(found, point, machine):
        return []
    each_s = seconds_at(default_size(machine), threads)
    enough = whole_duration(FEWEST_BLOCKS * contenders * each_s / _RUNS_SHARE)
    return [
        f"the budget allows arrays of {point['kib']} KiB, which caches may hold: "
        f"these are rates of caches, not of memory, which --budget {enough} measures"
    ]


def keep_what_was_measured(
    found: Found,
    point: Mapping[str, str],
    machine: Machine,
    threads: int,
    series: Sequence[Series],
    quota: float | None,
) -> None:
    """Keep the limits that undisturbed runs gave, and forget one that was kept and that a contender went past."""
    own = measures_memory(found, point, machine)
    exceeded = {name for _, name, _ in beyond_limits(series)}
    for one in series:
        limit = one.machine_limit
        if one.kept is not None and one.contender.name in exceeded:
            forget_limit(one.kept)
        elif limit is not None and limit.memory and one.kept is None:
            _keep(one, limit.limit.study, limit.limit.per, one.contender.name, machine, threads, quota)
        elif own and one.contender.kind == "variant":
            _keep(one, BANDWIDTH, "bytes", f"{BANDWIDTH} {one.contender.name}", machine, threads, quota)


def _keep(one: Series, study: str, per: str, name: str, machine: Machine, threads: int, quota: float | None) -> None:
    spoiled = disturbance(one.met, quota).which
    times = [seconds for block, seconds in one.times.items() if block not in spoiled]
    work = one.work_of(per)
    state = _state(study, machine, threads)
    if work and (made := measured_limit(name, per, threads, state, work, times)) is not None:
        keep_limit(made)


def _state(study: str, machine: Machine, threads: int) -> str:
    placement = place(machine, "balanced", threads) if threads <= len(machine.allowed) else None
    processors = placement.mask if placement is not None else machine.allowed
    return machine_state(machine, processors, find_study(study).binary)
