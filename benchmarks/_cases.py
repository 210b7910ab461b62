# SPDX-License-Identifier: BSD-3-Clause
"""Programs for judging a tune that do more than take time: they have an allocator, knobs, settings that fail or hang.

A case is a surface on its machine with what `nodewise tune` would be asked, and the runs that it may take.
"""

from __future__ import annotations

import itertools
import math
import random
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks._surfaces import MEMORIES, Surface, gain_surface, random_surface, read_surfaces, sockets
from nodewise.machine.model import Machine
from nodewise.records.budget import Budget
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.search.space import Point, Space
from nodewise.tuning.options import Options
from nodewise.tuning.selection import Offer
from nodewise.tuning.wanted import Wanted

#: What a run can do besides ending after some seconds.
FAILS, HANGS = "fails", "hangs"
#: A run that hangs where nothing cuts it off is taken to last so many times the baseline's time.
_ENDLESS = 50.0

Effect = Callable[[Setting], float | str]


@dataclass
class Case:
    """One program on one machine. `effect` is a factor on the surface's seconds, or that the run fails or hangs.

    `axes` None: those that a tune takes by itself. `by_itself` is the share of runs that fail whatever the setting. `runs`
    of the baseline's time are the budget: in seconds where `timed`. `best_factor` is the best setting's share of the
    baseline's time where there are too many settings to look at them all.
    """

    name: str
    surface: Surface
    runs: int
    axes: tuple[str, ...] | None
    effect: Effect = lambda _: 1.0
    by_itself: float = 0.0
    variables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ("x",)
    live: bool = False
    timed: bool = False
    best_factor: float | None = None

    @cached_property
    def machine(self) -> Machine:
        """The machine that it runs on."""
        return self.surface.machine(live=self.live)

    @cached_property
    def wanted(self) -> Wanted:
        """The axes of the user's own."""
        return Wanted(variables=dict(self.variables))

    def options(self, runs: int | None = None) -> Options:
        """The axes of a tune of so many runs."""
        offer = Offer(self.machine, self.command, self.axes, self.environment, self.wanted)
        with offer.watching(Pretending(self, 0), offer.before_the_first_run().baseline()):
            pass
        offer.used({})
        return offer.after_the_first_run((runs or self.runs) - 1)

    @property
    def space(self) -> Space:
        """The space of a tune of the case's runs."""
        return self.options().space

    def outcome(self, setting: Setting) -> float | str:
        """Noiseless seconds, or what happens instead."""
        effect = self.effect(setting)
        return effect if isinstance(effect, str) else effect * self.surface.seconds(setting)

    def seconds(self, setting: Setting) -> float:
        """Noiseless seconds; infinite where there are none."""
        found = self.outcome(setting)
        return math.inf if isinstance(found, str) else found

    @cached_property
    def baseline(self) -> float:
        """The noiseless seconds of the program as it is started."""
        return self.seconds(Setting(self.command))

    def best(self, runs: int | None = None) -> float:
        """The noiseless seconds of the best setting of the space."""
        if self.best_factor is not None:
            return self.best_factor * self.baseline
        options = self.options(runs)
        axes = options.space.open
        points = itertools.product(*(a.values for a in axes))
        names = [a.name for a in axes]
        settings = (options.setting(Point(dict(zip(names, values, strict=True)))) for values in points)
        return min(self.baseline, *(self.seconds(s) for s in settings))

    def budget(self, runs: int | None = None) -> Budget:
        """What a tune may take."""
        runs = runs or self.runs
        return Budget(1.05 * self.baseline * runs, None) if self.timed else Budget(None, runs)


class Pretending:
    """A Launcher that computes what a run would have taken; `clock` is the time that all runs took, `truth` the noiseless
    seconds of each setting that ran, by key.
    """

    def __init__(self, case: Case, seed: int, noise: Mapping[str, float] | None = None):
        self._case = case
        self._noise = case.surface.text["noise"] if noise is None else noise
        self._random = random.Random(seed)
        self._phase = self._random.random() * 1000
        self.runs = 0
        self.spent_s = 0.0
        self.truth: dict[str, float] = {}

    def clock(self) -> float:
        """Seconds since the beginning."""
        return self.spent_s

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        """A sample at once."""
        told = self._case.outcome(setting)
        self.truth[setting.key] = math.inf if isinstance(told, str) else told
        noise = self._noise
        t = math.exp(self._random.gauss(0, noise.get("sigma", 0)))
        t *= 1 + noise.get("drift", 0) * math.sin(2 * math.pi * (self.runs + self._phase) / noise.get("period", 97))
        if self._random.random() < noise.get("outliers", 0):
            t *= 1 + self._random.expovariate(1 / noise.get("outlier_size", 0.3))
        by_itself = self._random.random() < self._case.by_itself and self.runs > 0
        self.runs += 1
        if told == FAILS or by_itself:
            seconds = 0.3 * self._case.baseline
            self.spent_s += seconds
            return Sample(seconds, seconds, self.spent_s, error="killed by signal 11")
        seconds = _ENDLESS * self._case.baseline if isinstance(told, str) else told * t
        quantum = noise.get("quantum", 0)
        seconds = max(quantum, round(seconds / quantum) * quantum) if quantum else seconds
        if timeout_s is not None and seconds > timeout_s:
            self.spent_s += timeout_s
            return Sample(timeout_s, timeout_s, self.spent_s, error=f"cut off after {timeout_s:g} s", cut_off=True)
        self.spent_s += seconds
        return Sample(seconds, seconds, self.spent_s)

    def close(self) -> None:
        """Nothing is kept running."""


def _plain(name: str, machine: Mapping[str, Any], **more: Any) -> Surface:
    """A program that scales with its threads as `more` says."""
    return Surface(name, {"machine": machine, "seconds": 20.0, "serial": 0.01, "smt": [1.0, 1.2], **more})


def _threads(setting: Setting) -> int:
    return int(setting.env.get("OMP_NUM_THREADS", "0"))


#: What a dynamic loader and a reader of ELF files see of a library.
_ALLOCATORS = ("libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2")


def allocators(folder: Path) -> dict[str, str]:
    """An environment in which allocators can be preloaded that are nothing but names."""
    head = Path("/proc/self/exe").read_bytes()[:64]
    for name in _ALLOCATORS:
        (folder / name).write_bytes(head)
    return {"LD_LIBRARY_PATH": str(folder)}


def _allocator(setting: Setting) -> float:
    preload = setting.env.get("LD_PRELOAD", "")
    return 1 / 1.6 if "jemalloc" in preload else 1 / 1.2 if "tcmalloc" in preload else 1.0


def _knobs(setting: Setting) -> float | str:
    """Ten variables: two matter, one value crashes and one hangs."""
    found = 1.0
    for name, value, effect in (("K2", "c", 0.85), ("K5", "d", 0.9), ("K3", "b", FAILS), ("K7", "d", HANGS)):
        if setting.env.get(name) == value:
            if isinstance(effect, str):
                return effect
            found *= effect
    return found


_TEN = {f"K{i}": ("a", "b", "c", "d") for i in range(10)}


def made_cases(folder: Path) -> list[Case]:
    """Cases that no file describes; `folder` is for what they preload."""
    serial = {"seconds": 1.0, "serial": 1.0, "smt": [1.0], "noise": {"sigma": 0.05}}
    two = sockets(1, 2, 1)
    bandwidth = {"bytes_share": 0.5, "remote_loss": 0.3, "floating_loss": 0.06, "noise": {"sigma": 0.05}}
    bandwidth |= {"smt": [1.0, 0.9], "thread_cost": 0.0004}
    imbalance = {"imbalance": 0.72, "chunk_cost": 0.8, "tail": 400.0, "iterations": 100000}
    usual = {"sigma": 0.01, "outliers": 0.04, "outlier_size": 0.25, "drift": 0.01, "period": 61}
    noisy = {"noise": {"sigma": 0.05}}
    both = ("threads", "placement")
    wide = sockets(2, 24, 2, bandwidth=15.0)
    here = {"environment": allocators(folder), "command": ("/bin/cat",), "live": True}
    eight = sockets(1, 8, 2)
    # the gain of the best schedule: 20 %
    uneven = _plain("uneven", eight, **imbalance, noise=usual)
    return [
        Case("allocator", _plain("serial", two, **serial), 20, ("allocator",), _allocator, **here),
        Case("allocator and all axes", _plain("serial", two, **serial), 60, None, _allocator, **here),
        Case("allocator on 24 cores", _plain("serial", sockets(1, 24, 2), **serial), 60, None, _allocator, **here),
        Case("uneven 20%", uneven, 100, (*both, "schedule")),
        Case("crash", _plain("crash", wide, **bandwidth), 200, both, lambda s: FAILS if _threads(s) > 60 else 1.0),
        Case("hang", _plain("hang", wide, **bandwidth), 200, both, _hangs, timed=True),
        Case("fails by itself", _plain("random", wide, **bandwidth), 200, both, by_itself=0.2),
        Case(
            "ten knobs",
            _plain("knobs", eight, **noisy),
            200,
            tuple(_TEN),
            _knobs,
            variables=_TEN,
            timed=True,
            best_factor=0.765,
        ),
        Case("24 x 2", _plain("24 x 2", wide, **bandwidth), 200, both),
        Case("128 x 2", _plain("128 x 2", sockets(2, 64, 2, 40.0), turbo_loss=0.2, **bandwidth), 200, both),
        Case(
            "memory x threads",
            _plain("memory", sockets(2, 16, 2, 8.0), **bandwidth),
            200,
            both,
            variables={"PRETEND_MEMORY": MEMORIES},
        ),
    ]


def _hangs(setting: Setting) -> float | str:
    """One placement hangs, and so does more than one thread a core on either socket."""
    return HANGS if setting.values.get("placement") == "compact" or _threads(setting) > 80 else 1.0


def known_cases() -> list[Case]:
    """The surfaces in the folder, each with 3 % of the runs of a grid with ten runs a point, 60 at least."""
    return [case_of(surface) for surface in read_surfaces()]


def case_of(surface: Surface) -> Case:
    """A surface as a case."""
    variables = {"PRETEND_MEMORY": MEMORIES} if "PRETEND_MEMORY" in surface.axes else {}
    names = tuple(name for name in surface.axes if name not in variables)
    made = Case(surface.name, surface, 1000, names, variables=variables)
    # of the four placements two are one wherever nothing but the order of threads differs
    grid = made.space.size * 3 / 4
    if variables:
        # a variable that is not set is one of its values
        grid *= len(MEMORIES) / (len(MEMORIES) + 1)
    made.runs = max(60, int(grid * 10 * 0.03))
    return made


def case(name: str) -> Case:
    """The case of that name: of the folder, made, `gain`, or `random N`. Raises StopIteration for no such name."""
    if name.startswith("random "):
        return case_of(random_surface(int(name.split()[1])))
    if name == "gain":
        return case_of(gain_surface())
    every = [*known_cases(), *made_cases(Path(tempfile.mkdtemp()))]
    return next(c for c in every if c.name == name)
