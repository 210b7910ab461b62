# SPDX-License-Identifier: BSD-3-Clause
"""A machine of 128 processors that is not here, with load on processors that the program does not need, as its kernel would count it.

The runs are computed, what the runner would have read of them is, too, and what is said of these is nodewise's own: marks,
blocks made again, verdicts. The program is not bound, so it may use all processors, others' load stands in the counts of
its own, and only room for both tells that it is none of its concern.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from benchmarks._busy.series import Series
from nodewise.runner.marks import find_marks
from nodewise.runner.sample import Sample

PROCESSORS = 128
#: A tick of the kernel's count of processor time, on each processor.
_TICK_S = 0.01
#: How often the scheduler puts a thread where another works before it moves it on, for a run of a second, and for how long it stays there.
_MEETINGS, _MEETING_S = 0.5, 0.003
#: Runs in a series.
_BLOCKS = 200


@dataclass(frozen=True)
class Elsewhere:
    """A program of `threads` that takes so many seconds, and others that use `load` of the processors; all of the time, or in
    `bursts` that last about as long as three runs.
    """

    threads: int
    seconds: float
    load: int
    bursts: bool = False

    def __str__(self) -> str:
        return f"{self.threads} of {PROCESSORS}, {self.load} loaded{' in bursts' * self.bursts}"


CASES = (
    Elsewhere(1, 0.5, 64),
    Elsewhere(1, 0.1, 120),
    Elsewhere(4, 0.5, 100, bursts=True),
    Elsewhere(32, 0.5, 64),
    Elsewhere(32, 2.0, 90, bursts=True),
)


def computed(case: Elsewhere, slowdown: float, seed: int) -> Series:
    """Blocks of `base`, and of the same program that takes `slowdown` times as long as `other`."""
    dice, blocks = random.Random(seed), []
    loaded, clock = True, 0.0
    for _ in range(_BLOCKS):
        block = {}
        for name in ("base", "other"):
            loaded = not loaded if case.bursts and dice.random() < 1 / 3 else loaded
            # a chip that is busy elsewhere clocks lower, and comes and goes
            clock = 0.9 * clock + dice.gauss(0, 0.004)
            seconds = case.seconds * (slowdown if name == "other" else 1.0) * (1.03 if loaded else 1.0)
            seconds *= math.exp(clock + dice.gauss(0, 0.01))
            block[name] = _run(case, seconds, case.load if loaded else 0, dice)
        blocks.append(block)
    return Series(tuple(blocks))


def _run(case: Elsewhere, seconds: float, load: int, dice: random.Random) -> Sample:
    """A run beside `load` processors' worth of others' work, with what the kernel would have counted meanwhile."""
    met = sum(dice.random() < _MEETINGS * seconds * load / PROCESSORS for _ in range(case.threads))
    waited = met * _MEETING_S + sum(dice.expovariate(1 / 2e-4) for _ in range(case.threads))
    wall = seconds + (_MEETING_S if met else 0.0)
    # threads of a team wait at its end for the slowest one
    mine = sum(seconds * (1 - 0.02 * dice.random()) for _ in range(case.threads))
    rounding = sum(dice.uniform(-_TICK_S, _TICK_S) for _ in range(2 * case.threads + load))
    usage = {"user_s": mine, "system_s": 0.0, "waited_s": waited, "watched_s": mine, "busiest_s": seconds}
    usage |= {"watched_threads": float(case.threads), "involuntary_switches": float(met + 1)}
    busy = max(0.0, mine + load * wall + rounding)
    # of those that work elsewhere some wait for each other, which is none of the program's
    conditions = {
        "processors": float(PROCESSORS),
        "mask_busy_s": busy,
        "busy_s": busy,
        "ready": float(dice.randrange(3)),
    }
    return Sample(wall, wall, 0.0, usage=usage, conditions=conditions, marks=find_marks(wall, usage, conditions))


def series(case: Elsewhere, slowdown: float) -> Series:
    """The series of a case, the same each time."""
    return computed(case, slowdown, CASES.index(case))
