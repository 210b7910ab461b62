# SPDX-License-Identifier: BSD-3-Clause
"""Spin: the same work again and again on each processor, by nodewise-spin: how long it takes, and what is lost meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from statistics import median
from typing import Any

from nodewise.base.errors import InputError, NodewiseError, ProgramError
from nodewise.base.frozen import dataclass
from nodewise.base.native import native_path
from nodewise.base.processors import format_processors

#: A quantum is short enough to see what a tick of the clock costs, and long enough that there are not millions of them.
QUANTUM_S = 1e-3
#: Of one round; less says nothing of what comes a few times in a second.
SHORTEST_S = 0.2


@dataclass(frozen=True)
class Spin:
    """One processor over `seconds`: `quanta_s` are the times of equal pieces of work in their order.

    `lost_s` is the time in which the work did not go on, in `detours` interruptions of which the longest took
    `longest_s`; `lengths` are (at least this long in seconds, how many, their sum), doubling from one to the next.
    Of it the work waited `waited_s` for its processor while another thread had it (None: the kernel does not say).
    """

    processor: int
    seconds: float
    quanta_s: tuple[float, ...]
    lost_s: float
    detours: int
    longest_s: float
    lengths: tuple[tuple[float, int, float], ...] = ()
    waited_s: float | None = None
    involuntary: int = 0

    @property
    def lost(self) -> float:
        """The share of the time that was lost."""
        return self.lost_s / self.seconds if self.seconds > 0 else 0.0

    @property
    def typical_s(self) -> float:
        """The median time of a quantum."""
        return median(self.quanta_s)


def read_spins(reply: dict[str, Any]) -> list[Spin]:
    """What nodewise-spin printed, as values. Raises KeyError where something is missing."""
    return [
        Spin(
            processor=p["processor"],
            seconds=p["seconds"],
            quanta_s=tuple(q * 1e-9 for q in p["quanta_ns"]),
            lost_s=p["lost_ns"] * 1e-9,
            detours=p["detours"],
            longest_s=p["longest_ns"] * 1e-9,
            lengths=tuple((low * 1e-9, count, total * 1e-9) for low, count, total in p["lengths"]),
            waited_s=None if p["waited_ns"] < 0 else p["waited_ns"] * 1e-9,
            involuntary=p["involuntary"],
        )
        for p in reply["processors"]
    ]


def rounds_of(processors: Sequence[int], at_once: int) -> list[tuple[int, ...]]:
    """The processors in groups of at most `at_once`, which a quota on processor time makes necessary."""
    return [tuple(processors[i : i + at_once]) for i in range(0, len(processors), at_once)]


def spin(processors: Sequence[int], seconds: float, at_once: int | None = None) -> list[Spin]:
    """Work on all `processors` together for `seconds`, or on `at_once` of them at a time, which share the seconds.

    Raises InputError for no processor or too little time, ProgramError where one may not be used.
    """
    if not processors:
        raise InputError("no processor to measure")
    rounds = rounds_of(processors, max(1, at_once or len(processors)))
    each = seconds / len(rounds)
    if each < SHORTEST_S:
        raise InputError(
            f"{seconds:g} s are too few for {len(rounds)} rounds of measuring",
            f"give at least --seconds {SHORTEST_S * len(rounds):g}",
        )
    return [seen for group in rounds for seen in _spin_together(group, each)]


def _spin_together(processors: Sequence[int], seconds: float) -> list[Spin]:
    words = [str(native_path("nodewise-spin")), f"{seconds:.6f}", f"{QUANTUM_S * 1e6:.3f}", *map(str, processors)]
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    problem = done.stderr.strip()
    if done.returncode != 0 and problem.startswith("processor "):
        raise ProgramError(
            f"{problem} cannot be used by this process", f"it may use {format_processors(os.sched_getaffinity(0))}"
        )
    try:
        if done.returncode != 0:
            raise ValueError(problem or f"status {done.returncode}")
        return read_spins(json.loads(done.stdout))
    except (ValueError, KeyError) as failure:
        raise NodewiseError(f"nodewise-spin ended unexpectedly: {failure}", "run again") from failure
