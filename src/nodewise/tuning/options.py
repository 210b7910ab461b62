# SPDX-License-Identifier: BSD-3-Clause
"""Options: the axes of one tune, and how a point on them becomes a Setting."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError
from nodewise.machine.model import Machine
from nodewise.runner.binding import Binding
from nodewise.runner.launch import quoted
from nodewise.runner.loaded import Loaded
from nodewise.runner.setting import Setting
from nodewise.search.constraint import parse_constraint
from nodewise.search.space import Axis, Point, Space
from nodewise.tuning.axes.isolation import isolated_by
from nodewise.tuning.catalogue.knob import UNSET, Follower, Knob, apply, cleared
from nodewise.tuning.custom import FLAGS, environment_option, names_in, parameter_option, put_in
from nodewise.tuning.holding import Holding
from nodewise.tuning.known import Surroundings
from nodewise.tuning.known_axes import axis_names, known_axes
from nodewise.tuning.machine_features import machine_features
from nodewise.tuning.option import Draft, Option
from nodewise.tuning.wanted import Wanted


class Options:
    """The axes of one tune: the space that they span, and the Setting of each of its points.

    On a machine that is not live the program is given places, but nothing is bound.
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
        loaded: Loaded | None = None,
    ):
        """`knobs` are those to try, `followers` variables that follow the threads; `build` makes a program from a command
        and gives its file and, where that failed, why; `folder` is for scripts that place ranks, `loaded` what a run of
        the command was seen to load.

        Raises InputError for an axis that is not known or cannot be here.
        """
        self._machine = machine
        self._command = tuple(command)
        self._environment = dict(environment)
        self._wanted = wanted or Wanted()
        self._build = build
        self._knobs = {k.name: k for k in knobs}
        self._loaded = loaded
        self._holding = Holding(machine, command, self._environment, followers, loaded, folder)
        self._isolated = isolated_by(self._wanted.isolation) if "isolation" not in names else None
        #: Axes that were asked for and that nothing of the program would notice, each with the reason.
        self.without_effect: dict[str, str] = {}
        self._options = self._with_effect(self._make(names))
        axes = [o.axis for o in self._options]
        self._constraints = [parse_constraint(text, [a.name for a in axes]) for text in self._wanted.constraints]
        self._defaults = {a.name: a.default for a in axes}
        self._holding.threads = self._defaults.get("threads")
        self._placed = lru_cache(maxsize=1 << 14)(self._holding.placement)
        # without one of them every point sits alike
        self._held = {o.axis.name for o in self._options if o.held}
        sits = any(a.name in self._held and len(a.values) > 1 for a in axes)
        features = machine_features(machine, self._processors) if sits else None
        allowed = lru_cache(maxsize=1 << 14)(self._allowed)
        self.space = Space(tuple(axes), lru_cache(maxsize=1 << 14)(self._identity), allowed, features)
        self._default = self.space.default

    def _make(self, names: Sequence[str]) -> list[Option]:
        known, every = known_axes(), axis_names()
        around = Surroundings(self._machine, self._holding, self._wanted, self._loaded, self._other_malloc)
        found: dict[str, Option] = {}
        parameters = dict(self._wanted.parameters)
        if self._wanted.build and "flags" in names_in(self._wanted.build) and "flags" not in parameters:
            parameters["flags"] = FLAGS
        for name in names:
            if name in known:
                found[name] = known[name].make(around)
            elif name in self._knobs:
                found[name] = _knob_option(self._knobs[name])
            elif name == "knobs":
                found |= {k.name: _knob_option(k) for k in self._knobs.values()}
            elif name == "flags" and not self._wanted.build:
                raise InputError("the axis flags needs to know how to build", "give --build 'cc {flags} -o app app.c'")
            elif name not in (*parameters, *self._wanted.variables, *every):
                raise self._unknown(name)
        for name in {*parameters, *self._wanted.variables} & {*every} - {"flags"}:
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
        self._check_filled(parameters)
        for name, values in self._wanted.variables.items():
            found[name] = environment_option(name, values, self._environment)
        return list(found.values())

    def _unknown(self, name: str) -> InputError:
        if name in ("ranks_per_node", "ranks-per-node"):
            return InputError(
                f"{name} is no axis: ranks are dealt out over the nodes of the command, as many on each",
                "name --axes ranks, and say how many nodes there are: --ranks-per-node, or -N of srun",
            )
        return InputError(f"unknown axis: {name}", f"the axes are: {', '.join([*axis_names(), *self._knobs])}")

    def _check_filled(self, parameters: Mapping[str, Sequence[str]]) -> None:
        """Raises InputError where a word of the command has the form of a parameter, and others are given but not this one."""
        # what is built is put in by the build itself
        own = {"out"} if self._wanted.build else set()
        for word in self._command if self._wanted.parameters else ():
            if (name := word[1:-1]) in names_in(word) - {*parameters} - own:
                raise InputError(
                    f"nothing is given for {word} in the command",
                    f"give -P {name}=…, or where the program is to have it as it is -P '{name}={word}'",
                )

    @property
    def starts_ranks(self) -> bool:
        """Whether the command starts ranks."""
        return self._holding.ranked is not None

    def _with_effect(self, options: list[Option]) -> list[Option]:
        """Those that the program would notice: one without OpenMP has its threads only by their mask."""
        holding = self._holding
        if not self._machine.live or holding.openmp or holding.ranked is not None:
            return options
        there = {o.axis.name for o in options}
        if "threads" in there and "placement" not in there and not holding.counted:
            why = f"{holding.binding.why}; only with placement is it held to that many processors"
            self.without_effect["threads"] = why
        if "placement" in there and "threads" not in there:
            why = f"{holding.binding.why}; without threads to choose it has all processors anyway"
            self.without_effect["placement"] = why
        left = [o for o in options if o.axis.name not in self.without_effect]
        if self.without_effect and not left:
            name, why = next(iter(self.without_effect.items()))
            raise InputError(
                f"the program would notice nothing of the axis {name}: {why}", "name --axes threads,placement"
            )
        return left

    def _other_malloc(self, values: Mapping[str, Any]) -> str | None:
        """The allocator that is preloaded at a point, in the place of the program's own; None where none is."""
        allocator = self._knobs.get("allocator")
        value = values.get("allocator")
        return None if allocator is None or value in (None, allocator.default, UNSET) else str(value)

    def _processors(self, point: Point) -> list[int] | None:
        placement = self._placed(point)
        return None if placement is None else [place[0] for place in placement.places]

    def _identity(self, point: Point) -> Hashable:
        rest = tuple((k, v) for k, v in point.items() if k not in self._held)
        return (self._holding.identity(point), rest)

    def _allowed(self, point: Point) -> bool:
        if point == self._default:
            return True
        ranks, threads = self._holding.shape(point)
        if self._holding.ranked is not None and self._holding.on_node(ranks) * threads > self._holding.processors:
            return False
        if not self._holding.fits(point):
            return False
        values = {**self._defaults, **point}
        return self._agree(values) and all(c.holds(values) for c in self._constraints)

    def _agree(self, values: Mapping[str, Any]) -> bool:
        """Whether something reads each part, given the others."""
        others = {n for n, v in values.items() if v != self._defaults[n]}
        if any(others.intersection(k.without) for n, k in self._knobs.items() if n in others):
            return False
        return all(option.allows(values) for option in self._options)

    @property
    def binding(self) -> Binding:
        """How threads are bound, and why."""
        return self._holding.binding

    def baseline(self) -> Setting:
        """The program as its user starts it, with the first value of each parameter."""
        draft = self._draft()
        for option in self._options:
            if option.axis.name in self._wanted.parameters or option.axis.name == "flags":
                option.apply(draft, option.axis.default, self._defaults)
        self._make_program(draft, self._defaults)
        return draft.setting({})

    def setting(self, point: Mapping[str, Any]) -> Setting:
        """The Setting of a point; its values are those of the open axes."""
        values = {**self._defaults, **point}
        draft = self._draft()
        for option in sorted(self._options, key=lambda o: o.last):
            option.apply(draft, values[option.axis.name], values)
        self._make_program(draft, values)
        self._holding.hold(draft, Point(point))
        return draft.setting(point)

    def _draft(self) -> Draft:
        # a launcher of ranks is bound to nothing
        mask = self._machine.held_to if self._holding.ranked is None else None
        return Draft(list(self._command), self._environment, mask=mask, isolation=self._isolated)

    def about(self, name: str, value: Any) -> str:
        """What a value of an axis does, in a sentence; empty where the axis says it by itself."""
        option = next((o for o in self._options if o.axis.name == name), None)
        return "" if option is None else option.about(value)

    def _make_program(self, draft: Draft, values: Mapping[str, Any]) -> None:
        if self._wanted.build is None or self._build is None:
            return
        draft.build = put_in(self._wanted.build, values)
        made, draft.broken = self._build(draft.build)
        ranked = self._holding.ranked
        at = ranked.program[0] if ranked is not None else self._command[0]
        if "{out}" in draft.build:
            draft.build = put_in(draft.build, {"out": quoted(str(made))})
        draft.command = [str(made) if word in (at, "{out}") else word for word in draft.command]


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
