# SPDX-License-Identifier: BSD-3-Clause
"""The processors of instances: what the file asks for, and what that is on a machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.meant import meant
from nodewise.base.processors import parse_processors
from nodewise.machine.model import Machine
from nodewise.pipelines.layout import Instance
from nodewise.pipelines.plan import Plan
from nodewise.placement.job import Job
from nodewise.placement.policies import POLICIES
from nodewise.placement.registry import all_texts
from nodewise.placement.resolve import Request, resolve

_HINT = (
    'give processors ("0-3"), a policy ("scatter"), a list of one for each instance, or a dialect ({places = "cores"})'
)
Cpus = tuple[int, ...] | None


@dataclass(frozen=True)
class Asked:
    """What the file asks for an instance; those of one `group` are placed together. `at` is its line."""

    place: Any
    group: str
    at: str

    def to_json(self) -> dict[str, Any]:
        """All fields as plain values."""
        return asdict(self)


def asked_places(plan: Plan) -> dict[Instance, Asked]:
    """What is asked for each instance, of those for which something is. Raises InputError for what is no place."""
    found = {}
    for device in plan.devices:
        own = f"device.{device.name}.place" in plan.lines
        at = plan.lines.at(f"device.{device.name}.place" if own else "pipeline.place")
        place = device.place
        if place is None:
            continue
        several = isinstance(place, list)
        if several and own and (len(place) != device.instances or not all(isinstance(one, str) for one in place)):
            raise InputError(f"{at}: one text is needed for each instance, {device.instances} in all", _HINT)
        if not isinstance(place, str | dict) and not (several and own):
            raise InputError(f"{at}: no place: {place!r}", _HINT)
        for number in range(device.instances):
            found[device.name, number] = (
                Asked(place[number], f"{device.name}.{number}", at)
                if several
                else Asked(place, device.name if own else "", at)
            )
    return found


def places_on(machine: Machine, asked: Sequence[Asked]) -> list[Cpus]:
    """The processors of each on a machine (None: any). Raises InputError, with the line."""
    groups: dict[str, list[int]] = {}
    for index, one in enumerate(asked):
        groups.setdefault(one.group, []).append(index)
    found: list[Cpus] = [None] * len(asked)
    for members in groups.values():
        first = asked[members[0]]
        for index, cpus in zip(members, _together(machine, first.place, len(members), first.at), strict=True):
            found[index] = cpus
    return found


def placed(plan: Plan, cpus: Mapping[Instance, Cpus]) -> Plan:
    """The plan with the processors of its instances."""
    devices = [replace(d, cpus=tuple(cpus.get((d.name, i)) for i in range(d.instances))) for d in plan.devices]
    return replace(plan, devices=tuple(devices))


def _together(machine: Machine, place: Any, instances: int, at: str) -> tuple[Cpus, ...]:
    if isinstance(place, str) and place[:1].isdigit():
        return (_processors(machine, place, at),) * instances
    if isinstance(place, str):
        texts, policy = {}, place
    elif isinstance(place, dict) and place and all(isinstance(one, str) for one in place.values()):
        texts, policy = dict(place), ""
        for name in texts:
            if name not in all_texts():
                raise InputError(f"{at}: no dialect is called {name!r}{meant(name, all_texts())}", _HINT)
    else:
        raise InputError(f"{at}: no place: {place!r}", _HINT)
    if policy and policy not in POLICIES:
        raise InputError(f"{at}: unknown placement: {policy!r}{meant(policy, POLICIES)}", _HINT)
    try:
        # each instance is one thread of one process: a place is what it may use
        found = resolve(machine, Job(instances), Request(policy or None, **texts)).placement.places
    except InputError as problem:
        raise InputError(f"{at}: {problem.what}", problem.hint) from problem
    return tuple(found[i] if policy != "os" else None for i in range(instances))


def _processors(machine: Machine, text: str, at: str) -> tuple[int, ...]:
    try:
        found = parse_processors(text)
    except InputError as problem:
        raise InputError(f"{at}: {problem.what}", problem.hint) from problem
    if missing := sorted({*found} - {*machine.allowed}):
        raise InputError(
            f"{at}: processor {missing[0]} is none that may be used here", "nodewise machine shows those that may"
        )
    return tuple(found)
