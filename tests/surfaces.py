# SPDX-License-Identifier: BSD-3-Clause
"""Machines and programs that exist only as formulas, for judging a tune without a clock."""

import itertools
import math
import random
from collections.abc import Callable
from typing import Any

from nodewise.machine.model import Core, Limits, Machine, Node, Processor
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting


def machine(cores: int, smt: int, live: bool = False) -> Machine:
    """One package of `cores` × `smt` hardware threads, numbered core by core."""
    made = tuple(Core(c, c, tuple(range(c * smt, (c + 1) * smt)), 0, 0) for c in range(cores))
    nodes = tuple(
        Node("core", c.logical, c.os_index, c.pus, tuple(Node("pu", p, p, (p,)) for p in c.pus)) for c in made
    )
    pus = tuple(range(cores * smt))
    return Machine(
        source="live" if live else f"synthetic:core:{cores} pu:{smt}",
        tree=Node("machine", 0, 0, pus, (Node("package", 0, 0, pus, nodes),)),
        cores=made,
        caches=(),
        numa_nodes=(),
        distances=(),
        kinds=(),
        processor=Processor("imaginary"),
        limits=Limits(pus),
    )


class Scripted:
    """A Launcher that computes what a run would have taken, with noise, and counts the runs."""

    def __init__(
        self, seconds: Callable[[Setting], float | str], seed: int = 0, sigma: float = 0.01, interrupt_at: int = -1
    ):
        self._seconds = seconds
        self._random = random.Random(seed)
        self._sigma = sigma
        self._interrupt_at = interrupt_at
        self.runs = 0

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        """A sample of the formula; a text is the error of a run that failed."""
        self.runs += 1
        if self.runs == self._interrupt_at:
            raise KeyboardInterrupt
        outcome = self._seconds(setting)
        at = float(self.runs)
        if isinstance(outcome, str):
            return Sample(seconds=0.1, wall_s=0.1, started_at=at, error=outcome, output="what it printed")
        noisy = outcome * math.exp(self._random.gauss(0, self._sigma)) * (1.3 if self._random.random() < 0.04 else 1)
        return Sample(seconds=noisy, wall_s=noisy, started_at=at)

    def close(self) -> None:
        """Nothing is kept running."""


class Clocked:
    """A Launcher with a clock of its own, which stands still between runs: what takes longer than it may is cut off."""

    def __init__(self, seconds: Callable[[Setting], float], seed: int = 0, sigma: float = 0.01):
        self._seconds = seconds
        self._random = random.Random(seed)
        self._sigma = sigma
        self.spent_s = 0.0
        self.limits: list[float | None] = []

    def clock(self) -> float:
        """Seconds that all runs took."""
        return self.spent_s

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        """A sample of the formula, or of what the time limit left of it."""
        self.limits.append(timeout_s)
        took = self._seconds(setting) * math.exp(self._random.gauss(0, self._sigma))
        cut = timeout_s is not None and took > timeout_s
        took = timeout_s if cut and timeout_s is not None else took
        self.spent_s += took
        return Sample(took, took, self.spent_s, error="cut off" if cut else None, cut_off=cut)

    def close(self) -> None:
        """Nothing is kept running."""


def threads_of(setting: Setting, default: int) -> int:
    """How many OpenMP threads the setting asks for."""
    return int(setting.env.get("OMP_NUM_THREADS", default))


def many_core(setting: Setting) -> float:
    """The shape of a sort on 61 cores × 4: best with three threads a core next to each other."""
    threads = threads_of(setting, 244)
    places = setting.places
    cores = [i % 61 for i in range(threads)] if places is None else [place[0] // 4 for place in places]
    busy: dict[int, int] = {}
    for core in cores:
        busy[core] = busy.get(core, 0) + 1
    smt = (1.0, 1.75, 2.4, 2.2)
    near = sum(a == b for a, b in itertools.pairwise(cores)) / len(cores)
    slowest = min(smt[min(4, n) - 1] / n for n in busy.values()) * (1 + 0.08 * near) * (1.0 if places else 0.92)
    return 100 / (threads * slowest) + 0.0005 * threads


def verdict_of(result: dict[str, Any]) -> str:
    """The word, typed."""
    return str(result.verdict)
