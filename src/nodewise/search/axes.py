# SPDX-License-Identifier: BSD-3-Clause
"""The axes that nodewise knows on a machine, and how a point on them becomes a Setting."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from nodewise.base.errors import InputError
from nodewise.machine.model import Machine
from nodewise.placement.memory import fast_nodes, read_memory
from nodewise.placement.placement import Placement
from nodewise.placement.policies import place
from nodewise.placement.tongues.said import BINDING_VARIABLES
from nodewise.runner.binding import binding_environment, program_of
from nodewise.runner.memory import huge_page_environment, huge_page_pools
from nodewise.runner.setting import Setting
from nodewise.search.features import machine_features
from nodewise.search.space import Axis, Point, Space


def _threads(machine: Machine, inherited: Mapping[str, str]) -> Axis:
    cores = len(machine.allowed_cores)
    processors = len(machine.allowed)
    smt = max(len(c.pus) for c in machine.allowed_cores)
    whole = [k * cores for k in range(smt, 0, -1)]
    packages = len({c.package for c in machine.allowed_cores})
    parts = [cores // packages, cores // 2, cores // 4, 1, cores // 8, 3 * cores // 2]
    powers = [2**k for k in range(processors.bit_length(), 0, -1)]
    natural = [n for n in dict.fromkeys([*whole, processors, *parts, *powers]) if 1 <= n <= processors]
    start = inherited.get("OMP_NUM_THREADS", "")
    default = int(start) if re.fullmatch(r"[1-9]\d{0,6}", start) else machine.parallelism
    values = sorted({*range(1, processors + 1), default})
    return Axis("threads", tuple(values), tuple(natural), default, ordered=True, crossed=True)


def _placement(machine: Machine, inherited: Mapping[str, str]) -> Axis:
    names = ("os", "compact", "scatter", "balanced")
    return Axis("placement", names, ("balanced", "os", "scatter", "compact"), "os", crossed=True)


def _hugepages(machine: Machine, inherited: Mapping[str, str]) -> Axis:
    values = ["default"]
    if machine.transparent_huge_pages in ("madvise", "always"):
        values.append("transparent")
    if machine.live and any(pool.free for pool in huge_page_pools() if pool.node is None):
        values.append("reserved")
    if machine.transparent_huge_pages == "always":
        values.append("never")
    return Axis("hugepages", tuple(values), tuple(values), "default")


def _memory(machine: Machine, inherited: Mapping[str, str]) -> Axis:
    """Where pages go, on a machine with more than one memory node; without, there is nothing to choose."""
    values = ["default"]
    nodes = [n for n in machine.numa_nodes if not machine.limits.nodes or n.os_index in machine.limits.nodes]
    if len(nodes) > 1:
        values += ["local", "interleave:all"]
        fast, _ = fast_nodes(machine)
        if fast and len(fast) < len(nodes):
            values += ["preferred:fast", "bind:fast", "interleave:fast"][: 3 if len(fast) > 1 else 2]
    return Axis("memory", tuple(values), tuple(values), "default")


AXES: dict[str, Callable[[Machine, Mapping[str, str]], Axis]] = {
    "threads": _threads,
    "placement": _placement,
    "hugepages": _hugepages,
    "memory": _memory,
}


def build_space(machine: Machine, names: Sequence[str], inherited: Mapping[str, str] | None = None) -> Space:
    """The space of the named axes on a machine, as a program started with the `inherited` environment finds it.

    Raises InputError for an axis that is not known, or none at all.
    """
    environment = os.environ if inherited is None else inherited
    unknown = [n for n in names if n not in AXES]
    if unknown or not names:
        raise InputError(f"unknown axis: {', '.join(unknown) or 'none given'}", f"the axes are: {', '.join(AXES)}")
    axes = tuple(AXES[name](machine, environment) for name in dict.fromkeys(names))

    @lru_cache(maxsize=1 << 14)
    def identity(point: Point) -> Hashable:
        return _identity(machine, point)

    def processors(point: Point) -> list[int] | None:
        placement = _bound(machine, point)
        return None if placement is None else [place[0] for place in placement.places]

    # without either of them every point sits alike
    sits = {"threads", "placement"} & {a.name for a in axes if len(a.values) > 1}
    return Space(axes, identity, features=machine_features(machine, processors) if sits else None)


def _bound(machine: Machine, point: Mapping[str, Any]) -> Placement | None:
    """Where the point's threads sit; None where the operating system decides."""
    threads = point.get("threads", machine.parallelism)
    return place(machine, point.get("placement", "os"), threads)


def _identity(machine: Machine, point: Point) -> Hashable:
    placement = _bound(machine, point)
    where = "os" if placement is None else placement.places
    rest = tuple((k, v) for k, v in point.items() if k not in ("threads", "placement"))
    return (point.get("threads"), where, rest)


def make_setting(
    machine: Machine, command: Sequence[str], point: Mapping[str, Any], inherited: Mapping[str, str] | None = None
) -> Setting:
    """The Setting of a point. On a machine that is not live places are told to the program, but nothing is bound."""
    environment = os.environ if inherited is None else inherited
    env: dict[str, str] = {}
    unset: tuple[str, ...] = ()
    placement = _bound(machine, point)
    if placement is not None:
        # what a program for another machine is, cannot be seen here
        variables, _ = binding_environment(command, placement.places, environment, "auto" if machine.live else "openmp")
        env |= variables
        unset = tuple(v for v in BINDING_VARIABLES if v not in env)
    else:
        if "threads" in point:
            env["OMP_NUM_THREADS"] = str(point["threads"])
        if "placement" in point:
            unset = BINDING_VARIABLES
    pages = point.get("hugepages", "default")
    libraries = program_of(command, environment).libraries if machine.live and pages != "default" else ()
    env |= huge_page_environment(pages, environment, libraries)
    memory = point.get("memory", "default")
    return Setting(
        command=tuple(command),
        values=dict(point),
        env=env,
        unset=unset,
        mask=placement.mask if placement is not None and machine.live else None,
        places=None if placement is None else placement.places,
        memory=None if memory == "default" else read_memory(machine, memory),
        no_huge_pages=pages == "never",
    )
