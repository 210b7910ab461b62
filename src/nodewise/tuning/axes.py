# SPDX-License-Identifier: BSD-3-Clause
"""The axes that nodewise knows on a machine, and how a point on them becomes a Setting."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError
from nodewise.machine.model import Machine
from nodewise.placement.memory import fast_nodes, read_memory
from nodewise.placement.placement import Placement
from nodewise.placement.tongues.said import BINDING_VARIABLES
from nodewise.runner.binding import binding_environment, program_of
from nodewise.runner.memory import huge_page_environment, huge_page_pools
from nodewise.runner.setting import Setting
from nodewise.search.constraint import parse_constraint
from nodewise.search.space import Axis, Point, Space
from nodewise.tuning.catalogue.choose import follow
from nodewise.tuning.catalogue.knob import Follower, Knob, apply, cleared
from nodewise.tuning.custom import FLAGS, environment_option, names_in, parameter_option, put_in
from nodewise.tuning.machine_features import machine_features
from nodewise.tuning.option import Draft, Option
from nodewise.tuning.ranks import UNBOUND, place_ranks, rank_wrapper, read_ranked


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


_KNOWN: dict[str, Callable[[Machine, Mapping[str, str]], Axis]] = {
    "threads": _threads,
    "placement": _placement,
    "hugepages": _hugepages,
    "memory": _memory,
}
#: Axes that are there on every machine; `knobs` stands for what is worth trying of the program's libraries.
AXES = (*_KNOWN, "ranks", "schedule", "wait", "allocator", "knobs", "flags")


@dataclass(frozen=True)
class Wanted:
    """What a user wants to be tried besides the axes' names: values for `{NAME}` in the command, variables, flags.

    `build` is a shell command that makes the program, with `{flags}` or parameters in it; `constraints` are conditions.
    """

    parameters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    variables: Mapping[str, Sequence[str]] = field(default_factory=dict)
    build: str | None = None
    constraints: Sequence[str] = ()


class Options:
    """The axes of one tune: the space that they span, and the Setting of each of its points.

    On a machine that is not live places are told to the program, but nothing is bound.
    """

    def __init__(
        self,
        machine: Machine,
        command: Sequence[str],
        names: Sequence[str],
        environment: Mapping[str, str],
        wanted: Wanted | None = None,
        *,
        knobs: Sequence[Knob] = (),
        followers: Sequence[Follower] = (),
        build: Callable[[str], tuple[Path, str]] | None = None,
        folder: Path | None = None,
    ):
        """`knobs` are those to try, `followers` variables that follow the threads; `build` makes a program from a command
        and gives its file and, where that failed, why; `folder` is for scripts that place ranks.

        Raises InputError for an axis that is not known or cannot be here.
        """
        self._machine = machine
        self._command = tuple(command)
        self._environment = dict(environment)
        self._wanted = wanted or Wanted()
        self._followers = tuple(followers)
        self._build = build
        self._folder = folder or Path()
        self._knobs = {k.name: k for k in knobs}
        self._ranked = read_ranked(command)
        self._options = self._make(names)
        axes = [o.axis for o in self._options]
        self._constraints = [parse_constraint(text, [a.name for a in axes]) for text in self._wanted.constraints]
        self._defaults = {a.name: a.default for a in axes}
        self._bound = lru_cache(maxsize=1 << 14)(self._place)
        # without one of them every point sits alike
        sits = {"threads", "placement", "ranks"} & {a.name for a in axes if len(a.values) > 1}
        features = machine_features(machine, self._processors) if sits else None
        allowed = lru_cache(maxsize=1 << 14)(self._allowed)
        self.space = Space(tuple(axes), lru_cache(maxsize=1 << 14)(self._identity), allowed, features)
        self._default = self.space.default

    def _make(self, names: Sequence[str]) -> list[Option]:
        found: dict[str, Option] = {}
        parameters = dict(self._wanted.parameters)
        if self._wanted.build and "flags" in names_in(self._wanted.build) and "flags" not in parameters:
            parameters["flags"] = FLAGS
        for name in names:
            if name in _KNOWN:
                found[name] = self._known(name)
            elif name == "ranks":
                found[name] = self._ranks()
            elif name in self._knobs:
                found[name] = _knob_option(self._knobs[name])
            elif name == "knobs":
                found |= {k.name: _knob_option(k) for k in self._knobs.values()}
            elif name == "flags" and not self._wanted.build:
                raise InputError("the axis flags needs to know how to build", "give --build 'cc {flags} -o app app.c'")
            elif name not in (*parameters, *self._wanted.variables, *AXES):
                raise InputError(f"unknown axis: {name}", f"the axes are: {', '.join([*AXES, *self._knobs])}")
        for name in {*parameters, *self._wanted.variables} & {*AXES} - {"flags"}:
            raise InputError(
                f"{name} is an axis of nodewise's own",
                f"call yours otherwise, such as -P my-{name}=… with {{my-{name}}}",
            )
        everywhere = " ".join([*self._command, self._wanted.build or ""])
        for name, values in parameters.items():
            if name not in names_in(everywhere):
                raise InputError(
                    f"neither the command nor --build has {{{name}}}", f"write {{{name}}} where it belongs"
                )
            found[name] = parameter_option(name, values)
        for name, values in self._wanted.variables.items():
            found[name] = environment_option(name, values, self._environment)
        return list(found.values())

    def _known(self, name: str) -> Option:
        axis = _KNOWN[name](self._machine, self._environment)
        if name == "threads" and self._ranked is not None and "OMP_NUM_THREADS" not in self._environment:
            axis = replace(axis, default=max(1, self._machine.parallelism // self._ranked.ranks))
        apply = {"hugepages": self._set_pages, "memory": self._set_memory}.get(name, _nothing)
        return Option(axis, apply)

    def _ranks(self) -> Option:
        if self._ranked is None:
            raise InputError(
                "the axis ranks needs a command that starts ranks",
                "write it such as: tune --axes ranks -- mpirun -n 4 ./app",
            )
        processors = len(self._machine.allowed)
        cores = len(self._machine.allowed_cores)
        packages = len({c.package for c in self._machine.allowed_cores})
        nodes = max(1, len({c.numa_node for c in self._machine.allowed_cores}))
        parts = [cores, packages, nodes, processors, 1, cores // 2, *(2**k for k in range(processors.bit_length()))]
        now = self._ranked.ranks
        natural = [n for n in dict.fromkeys([now, *parts]) if n == now or 1 <= n <= processors]
        values = tuple(sorted(natural))
        return Option(Axis("ranks", values, tuple(natural), now, ordered=len(values) > 2, crossed=True), _nothing)

    def _set_pages(self, draft: Draft, value: Any, point: Mapping[str, Any]) -> None:
        del point
        libraries: tuple[str, ...] = ()
        if self._machine.live and value != "default":
            libraries = program_of(draft.command, draft.environment).libraries
        draft.env |= huge_page_environment(value, draft.environment, libraries)
        draft.no_huge_pages = value == "never"

    def _set_memory(self, draft: Draft, value: Any, point: Mapping[str, Any]) -> None:
        del point
        draft.memory = None if value == "default" else read_memory(self._machine, value)

    def _shape(self, point: Mapping[str, Any]) -> tuple[int, int]:
        """Ranks and threads of each."""
        ranks = point.get("ranks", self._ranked.ranks if self._ranked is not None else 1)
        threads = point.get("threads", self._defaults.get("threads", max(1, self._machine.parallelism // ranks)))
        return int(ranks), int(threads)

    def _place(self, point: Point) -> Placement | None:
        """Where the point's threads sit; None where the operating system decides."""
        ranks, threads = self._shape(point)
        return place_ranks(self._machine, point.get("placement", "os"), ranks, threads)

    def _processors(self, point: Point) -> list[int] | None:
        placement = self._bound(point)
        return None if placement is None else [place[0] for place in placement.places]

    def _identity(self, point: Point) -> Hashable:
        placement = self._bound(point)
        where = "os" if placement is None else placement.places
        rest = tuple((k, v) for k, v in point.items() if k not in ("threads", "placement", "ranks"))
        return (self._shape(point), where, rest)

    def _allowed(self, point: Point) -> bool:
        if point == self._default:
            return True
        ranks, threads = self._shape(point)
        if ranks > 1 and ranks * threads > max(len(self._machine.allowed), self._most_asked):
            return False
        values = {**self._defaults, **point}
        return self._agree(values) and all(c.holds(values) for c in self._constraints)

    def _agree(self, values: Mapping[str, Any]) -> bool:
        """Whether each knob says something beside the others: glibc's allocator has none to tune beside another one."""
        others = {n for n, v in values.items() if v != self._defaults[n]}
        return not any(others.intersection(k.without) for n, k in self._knobs.items() if n in others)

    @property
    def _most_asked(self) -> int:
        ranks, threads = self._shape(self._defaults)
        return ranks * threads

    def baseline(self) -> Setting:
        """The program as its user starts it, with the first value of each parameter."""
        draft = Draft(list(self._command), self._environment)
        for option in self._options:
            if option.axis.name in self._wanted.parameters or option.axis.name == "flags":
                option.apply(draft, option.axis.default, self._defaults)
        self._make_program(draft, self._defaults)
        return draft.setting({})

    def setting(self, point: Mapping[str, Any]) -> Setting:
        """The Setting of a point; its values are those of the open axes."""
        values = {**self._defaults, **point}
        draft = Draft(list(self._command), self._environment)
        for option in self._options:
            option.apply(draft, values[option.axis.name], values)
        self._make_program(draft, values)
        self._bind(draft, Point(point))
        return draft.setting(point)

    def about(self, name: str, value: Any) -> str:
        """What a value of an axis does, in a sentence; empty where the axis says it by itself."""
        option = next((o for o in self._options if o.axis.name == name), None)
        return "" if option is None else option.about(value)

    def _make_program(self, draft: Draft, values: Mapping[str, Any]) -> None:
        if self._wanted.build is None or self._build is None:
            return
        made, draft.broken = self._build(put_in(self._wanted.build, values))
        at = self._ranked.program[0] if self._ranked is not None else self._command[0]
        draft.command = [str(made) if word in (at, "{out}") else word for word in draft.command]

    def _bind(self, draft: Draft, point: Point) -> None:
        placement = self._bound(point)
        ranks, threads = self._shape(point)
        if "threads" in point:
            draft.env |= follow(self._followers, "threads", threads, draft.environment)
        if self._ranked is not None:
            self._bind_ranks(draft, placement, ranks, threads)
        elif placement is not None:
            # what a program for another machine is, cannot be seen here
            way = "auto" if self._machine.live else "openmp"
            variables, _ = binding_environment(draft.command, placement.places, draft.environment, way)
            draft.env |= variables
            draft.unset += [v for v in BINDING_VARIABLES if v not in draft.env]
            draft.mask = placement.mask if self._machine.live else None
        else:
            if "threads" in point:
                draft.env["OMP_NUM_THREADS"] = str(threads)
            if "placement" in point:
                draft.unset += BINDING_VARIABLES
        draft.places = None if placement is None else placement.places

    def _bind_ranks(self, draft: Draft, placement: Placement | None, ranks: int, threads: int) -> None:
        """The launcher starts so many ranks, and each takes its own places; the launcher itself is bound to nothing."""
        ranked = read_ranked(draft.command)
        if ranked is None:
            return
        wrapper: list[str] = []
        draft.env["OMP_NUM_THREADS"] = str(threads)
        if placement is not None:
            wrapper = rank_wrapper(self._machine, placement, threads, self._folder)
            draft.env |= UNBOUND
        draft.unset += [v for v in BINDING_VARIABLES if v not in draft.env]
        draft.command = ranked.command(ranks, wrapper)


def _nothing(draft: Draft, value: Any, point: Mapping[str, Any]) -> None:
    """Threads, placement and ranks are set together, by `Options`."""


def _knob_option(knob: Knob) -> Option:
    def set_it(draft: Draft, value: Any, point: Mapping[str, Any]) -> None:
        del point
        environment = draft.environment
        draft.env |= apply(knob, value, environment)
        draft.unset += cleared(knob, value, environment)

    def about(value: Any) -> str:
        choice = knob.choice(value)
        return choice.meaning if choice is not None and choice.meaning else knob.meaning

    return Option(Axis(knob.name, knob.values, knob.values, knob.default), set_it, about)
