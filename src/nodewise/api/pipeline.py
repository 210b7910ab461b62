# SPDX-License-Identifier: BSD-3-Clause
"""Pipelines of devices: a file is read and its devices get their places; then it runs."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from nodewise.api.place import check_policy
from nodewise.base.errors import InputError, UnavailableError
from nodewise.base.meant import meant
from nodewise.base.processors import parse_processors
from nodewise.machine.given import machine as the_machine
from nodewise.machine.model import Machine
from nodewise.pipelines.file import read_pipeline
from nodewise.pipelines.plan import Device, Plan
from nodewise.pipelines.result import PipelineResult
from nodewise.pipelines.work import file_of
from nodewise.placement.job import Job
from nodewise.placement.registry import all_texts
from nodewise.placement.resolve import Request, resolve

_HINT = (
    'give processors ("0-3"), a policy ("scatter"), a list of one for each instance, or a dialect ({places = "cores"})'
)


def prepare_pipeline(file: Path) -> Plan:
    """The pipeline of a file, with each instance's processors on this machine. Raises InputError with file, line and key."""
    plan = read_pipeline(file)
    _check_files(plan)
    if all(device.place is None for device in plan.devices):
        return plan
    machine = the_machine()
    together = plan.lines.at("pipeline.place")
    shared = [d for d in plan.devices if f"device.{d.name}.place" not in plan.lines and d.place is not None]
    seats = iter(_places(machine, shared[0].place, sum(d.instances for d in shared), together) if shared else ())
    devices = []
    for device in plan.devices:
        if device.place is None:
            devices.append(device)
        elif device in shared:
            devices.append(replace(device, cpus=tuple(next(seats) for _ in range(device.instances))))
        else:
            at = plan.lines.at(f"device.{device.name}.place")
            devices.append(replace(device, cpus=_places(machine, device.place, device.instances, at)))
    return replace(plan, devices=tuple(devices))


def carry_out(
    plan: Plan, duration: float | None, show: Callable[[PipelineResult], None] = lambda _: None
) -> PipelineResult:
    """Run it, for `duration` seconds or as the file says. Raises UnavailableError without nodewise-transport."""
    if importlib.util.find_spec("nodewise_transport") is None:
        raise UnavailableError(
            "pipelines need the package nodewise-transport, which is not installed", "pip install nodewise-transport"
        )
    from nodewise.pipelines.run import run_pipeline

    return run_pipeline(plan, plan.duration if duration is None else duration, show)


def _places(machine: Machine, place: Any, instances: int, at: str) -> tuple[tuple[int, ...] | None, ...]:
    """The processors of each instance. Raises InputError."""
    if isinstance(place, list):
        if len(place) != instances or not all(isinstance(one, str) for one in place):
            raise InputError(f"{at}: one text is needed for each instance, {instances} in all", _HINT)
        return tuple(_processors(machine, one, at) for one in place)
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
    try:
        if policy:
            check_policy(policy)
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
    return found


def _check_files(plan: Plan) -> None:
    """Whether the files of sinks can be written. Raises InputError."""
    taken: dict[Path, Device] = {}
    for device in plan.devices:
        if device.kind != "file":
            continue
        at = plan.lines.at(f"device.{device.name}.path")
        path = device.settings["path"]
        if device.instances > 1 and "{instance}" not in path:
            raise InputError(f"{at}: {device.instances} instances would write to one file", "write {instance} in it")
        for number in range(device.instances):
            target = Path(plan.file.absolute().parent, file_of(path, number))
            if target in taken:
                raise InputError(f"{at}: {taken[target].name} writes to {target}, too", "give each a file of its own")
            taken[target] = device
            if target.is_dir() or not target.parent.is_dir():
                why = "it is a folder" if target.is_dir() else f"there is no folder {target.parent}"
                raise InputError(f"{at}: cannot write {target}: {why}")
            if target.is_file() and not device.settings["overwrite"]:
                raise InputError(f"{at}: {target} is there already", "remove it, or give overwrite = true")
