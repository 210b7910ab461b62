# SPDX-License-Identifier: BSD-3-Clause
"""Axis selection: which axes a tune tries, from what the user names and what the program turns out to load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.lists import apart
from nodewise.base.meant import meant
from nodewise.machine.model import Machine
from nodewise.runner.launcher import Launcher
from nodewise.runner.loaded import Loaded, loaded_from_json, needs_of, watched_launcher
from nodewise.runner.setting import Setting
from nodewise.search.constraint import parse_constraint
from nodewise.search.space import Axis, Point
from nodewise.tuning.builds import Builder
from nodewise.tuning.catalogue.choose import (
    Answers,
    allocator_knob,
    followers_for,
    knobs_for,
    libraries_loaded,
    marks_of,
    query_libraries,
    runnable,
)
from nodewise.tuning.catalogue.knob import Follower, Knob, Library, as_set_by_the_user
from nodewise.tuning.catalogue.priority import LEAST_WORTH, Prioritized, prioritize_knobs
from nodewise.tuning.catalogue.read import load_catalogue
from nodewise.tuning.catalogue.why import facts_of, why
from nodewise.tuning.known_axes import OF_LIBRARIES, axis_names, default_axes, known_axes
from nodewise.tuning.options import Options
from nodewise.tuning.wanted import Wanted

#: The share of the runs that knobs may take, where nobody has named them.
_SHARE = 0.3
#: A knob that promises at least this much (see `priority.Prioritized.promise`) is tried before anything else is known.
_PROMISING = 15
#: An axis of the user's own with more values than this is left to the search.
_MOST_GUESSED = 8


class Offer:
    """The axes of a tune: before its first run those that need not know the program, after it all of them."""

    def __init__(
        self,
        machine: Machine,
        command: Sequence[str],
        names: Sequence[str] | None,
        environment: Mapping[str, str],
        wanted: Wanted,
    ):
        """`names` are the axes asked for; None lets them be chosen."""
        self._machine = machine
        self._command = tuple(command)
        self._names = None if names is None else tuple(dict.fromkeys(names))
        self._environment = dict(environment)
        self._wanted = wanted
        self._loaded: Loaded | None = None
        self._usage: Mapping[str, float] | None = None
        self._knobs: tuple[Knob, ...] = ()
        #: The knobs of what the program loads, the most promising first, and why each is tried or not.
        self.prioritized: tuple[Prioritized, ...] = ()
        self._answers = Answers()
        self._options: Options | None = None
        self.builder: Builder | None = None
        self.folder = Path()
        #: Whether another number of ranks is sure to be seen where it does less work.
        self.rank_counts = False

    @property
    def _needs_libraries(self) -> bool:
        """Whether it matters what the program loads: not for a machine that is not here, nor where only axes are asked for of
        which its libraries are not told."""
        own = {*self._wanted.parameters, *self._wanted.variables}
        plain = {"flags", *own, *(name for name, axis in known_axes().items() if not axis.of_libraries)}
        return self._machine.live and (self._names is None or not plain.issuperset(self._names))

    def _make(
        self, names: Sequence[str], knobs: Sequence[Knob], followers: Sequence[Follower], early: bool = False
    ) -> Options:
        self._options = Options(
            self._machine,
            self._command,
            names,
            self._environment,
            # a condition may be on an axis that is known after the first run only
            replace(self._wanted, constraints=()) if early else self._wanted,
            knobs=knobs,
            followers=followers,
            build=self.builder,
            folder=self.folder,
            loaded=self._loaded,
        )
        return self._options

    def before_the_first_run(self) -> Options:
        """The axes that are known without the program: enough for the baseline.

        Raises InputError for what cannot be, and for an axis that nothing here is called.
        """
        self._check_names()
        self._check_constraints()
        names = self._plain_defaults() if self._names is None else [n for n in self._names if n in axis_names()]
        return self._make([n for n in names if n not in OF_LIBRARIES], (), (), early=True)

    def _check_constraints(self) -> None:
        """Whether each condition can be read and names what may become an axis."""
        if self._wanted.constraints:
            own = (*self._wanted.parameters, *self._wanted.variables)
            known = {*axis_names(), *own, *(k.name for library in load_catalogue() for k in library.knobs)}
            for text in self._wanted.constraints:
                parse_constraint(text, known)

    def _check_names(self) -> None:
        """Whether each axis asked for is one of nodewise's, of the catalogue or of the user's own."""
        if self._names is None:
            return
        own = {*self._wanted.parameters, *self._wanted.variables}
        if not self._names and not own:
            raise InputError("no axis is named", f"the axes are: {', '.join(axis_names())}")
        rest = [n for n in self._names if n not in axis_names() and n not in own]
        if not rest:
            return
        knobs = [k.name for library in load_catalogue() for k in library.knobs]
        for name in (n for n in rest if n not in knobs):
            raise InputError(
                f"unknown axis: {name}{meant(name, [*axis_names(), *own, *knobs])}",
                f"the axes are: {', '.join([*axis_names(), *sorted(own)])}; `nodewise knobs` lists those of libraries",
            )

    def _plain_defaults(self) -> list[str]:
        return default_axes(self._machine, self.rank_counts)

    @contextmanager
    def watching(self, launcher: Launcher, setting: Setting) -> Iterator[None]:
        """Look at what the program loads while it runs."""
        if not self._needs_libraries:
            yield
            return
        marks = marks_of(load_catalogue())
        loaded = needs_of(setting.command, setting.environment(self._environment), marks)
        with watched_launcher(launcher) as watcher:
            yield
        self._loaded = loaded if watcher is None else watcher.add_to(loaded, marks)

    def used(self, usage: Mapping[str, float]) -> None:
        """Take what the first run used (`Sample.usage`)."""
        self._usage = dict(usage)

    def recall(self, record: Mapping[str, Any] | None) -> None:
        """Take what an earlier process saw loaded."""
        self._loaded = None if record is None else loaded_from_json(record)

    @property
    def loaded(self) -> Loaded | None:
        """What was seen loaded; None where nobody looked."""
        return self._loaded

    @property
    def loaded_json(self) -> dict[str, Any] | None:
        """What was seen loaded, as plain values."""
        return None if self._loaded is None else self._loaded.to_json()

    def after_the_first_run(self, runs: int) -> Options:
        """All axes; `runs` is how many runs there may be. Raises InputError for an axis that is not known here."""
        catalogue = load_catalogue()
        if self._loaded is None:
            names = self._plain_defaults() if self._names is None else list(self._names)
            self._knobs = self._named(catalogue)
            return self._make(names, self._knobs, ())
        libraries = libraries_loaded(self._loaded, catalogue)
        self._check_loaded(catalogue, libraries)
        self._answers = query_libraries(libraries, self._loaded, self._machine, self._environment)
        every = [
            *knobs_for(
                self._loaded,
                self._machine,
                self._environment,
                catalogue,
                self._answers,
                command=self._command,
                usage=self._usage,
            )
        ]
        allocator = allocator_knob(self._loaded, self._environment, catalogue)
        every += [allocator] if allocator is not None else []
        self.prioritized = prioritize_knobs(every, catalogue, self._loaded, self._usage, int(runs * _SHARE))
        worth = [w.knob for w in self.prioritized if w.tried]
        if self._names is None:
            self._knobs, names = tuple(worth), [*self._plain_defaults(), "knobs"]
        else:
            wanted = [k for k in every if k.name in self._names]
            held = {k.name for k in wanted}
            # what is named has all its values
            wanted += [k for k in worth if "knobs" in self._names and k.name not in held]
            held |= {k.name for k in wanted}
            wanted += [k for k in self._named(catalogue) if k.name not in held]
            self._knobs, names = tuple(dict.fromkeys(wanted)), list(self._names)
        return self._make(names, self._knobs, followers_for(self._loaded, catalogue))

    def left_out(self) -> dict[str, str]:
        """What might have been tried and is not, and why: axes without effect, and knobs that are usually worth it."""
        found = {} if self._options is None else dict(self._options.without_effect)
        if self._names is None and not self.rank_counts and self._options is not None and self._options.starts_ranks:
            found["ranks"] = (
                "nothing shows whether other numbers of ranks do the same work: count the work, see the sample protocol, or name "
                "the result by --same-output; --axes ranks tries them all the same"
            )
        if self._names is not None and "knobs" not in self._names:
            return found
        profile = None if self._loaded is None else self._loaded.profile
        if profile is not None and profile.missing:
            found["profile"] = (
                f"where the time goes is not known ({profile.missing}): knobs are tried in the order of their worth"
            )
        taken = {k.name for k in self._knobs}
        for one in self.prioritized:
            if one.knob.name not in taken and one.knob.worth >= LEAST_WORTH:
                found[one.knob.name] = one.reason
            elif one.dropped and one.knob.name not in (self._names or ()):
                found[f"{one.knob.name}={apart(one.dropped)}"] = "too few runs for that many values"
        return found

    def _own_axes(self) -> list[Axis]:
        """The axes that the user brings: parameters and variables."""
        names = {*self._wanted.parameters, *self._wanted.variables}
        return [] if self._options is None else [a for a in self._options.space.open if a.name in names]

    def _named(self, catalogue: Sequence[Library]) -> tuple[Knob, ...]:
        """Knobs that the user names, whether or not anything was seen to load what they are of."""
        found = [k for library in catalogue for k in library.knobs if k.name in (self._names or ())]
        fitting = [replace(k, choices=runnable(k, self._machine)) for k in found]
        for knob in fitting:
            if not knob.choices:
                raise InputError(
                    f"this processor can run no value of the axis {knob.name}",
                    "leave it out; `nodewise knobs` shows what each needs",
                )
        return tuple(as_set_by_the_user(k, self._environment) for k in fitting)

    def _check_loaded(self, catalogue: Sequence[Library], loaded: Sequence[Library]) -> None:
        """Raises InputError for a knob that is named of a library that a run, which was watched, did not load."""
        if self._loaded is None or not self._loaded.watched:
            return
        there = {library.name for library in loaded}
        for library in catalogue:
            for knob in library.knobs:
                if knob.name in (self._names or ()) and library.name not in there:
                    raise InputError(
                        f"the axis {knob.name} is of {library.title}, which the program does not load",
                        f"`nodewise knobs -- COMMAND` lists those of what it loads; its variable can be tried all the same: "
                        f"--env-axis {knob.setter.variable}=…",
                    )

    def first_guesses(self, default: Point) -> list[Point]:
        """Points to run first of all: the program as it is, but for one thing that its user names or that promises much."""
        worthy = {w.knob.name: w.knob.values for w in self.prioritized if w.tried and w.promise >= _PROMISING}
        own = {a.name: a.values for a in self._own_axes() if len(a.values) <= _MOST_GUESSED}
        return [
            default.having(**{name: value})
            for name, values in {**own, **worthy}.items()
            if name in default
            for value in values
            if value != default[name]
        ]

    def reasons(self) -> dict[str, Any]:
        """For each knob that is tried where it is documented, and for each value why it may help here."""
        facts = facts_of(self._machine, self._answers)
        shares = {w.knob.name: w.share for w in self.prioritized}
        return {
            k.name: {
                "title": k.title,
                "variable": f"{k.setter.variable} {k.setter.part}".strip(),
                "source": k.source,
                "sources": {value: k.source_of(value) for value in k.values},
                "exact": k.exact,
                "share": shares.get(k.name),
                "why": {value: why(k, value, facts) for value in k.values},
            }
            for k in self._knobs
        }
