# SPDX-License-Identifier: BSD-3-Clause
"""Blocks: the one interleaving loop, on which every kind of experiment is built.

A block holds every contender once, beside each other in time, in random order balanced for carry-over. Each run is recorded
before the next is made, so a kill loses none; going on replays what was recorded. A block in which something disturbed a
run is kept, and another one is made besides while the budget lasts.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from nodewise.base.frozen import dataclass
from nodewise.experiments.progress import Progress
from nodewise.records.budget import Meter
from nodewise.records.recorder import Recorder
from nodewise.runner.objective import SECONDS, Objective
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.statistics.disturbance import passing_kinds, repeat_worthy, repeats_due
from nodewise.statistics.order import BalancedOrder

#: At most so many blocks are made besides for disturbed ones, as a share of the blocks that there are.
_MOST_AGAIN = 1.0
#: Where no budget holds yet a run may take so long, or so many times the slowest good one, before it is taken to hang.
_PATIENCE, _PATIENCE_S = 10.0, 600.0


@dataclass(frozen=True)
class Arm:
    """What takes part in a block: a setting, the time after which a run is cut off, and what is done before and after a run.

    `share_s` is what a run may take of the budget, where that is less than the rest of it (None: it is not).
    """

    setting: Setting
    timeout_s: float | None = None
    around: tuple[Callable[[], None], Callable[[], None]] | None = None
    share_s: float | None = None

    @property
    def key(self) -> str:
        """The setting's key."""
        return self.setting.key


@dataclass(frozen=True)
class Block:
    """One block: a sample of each contender by its key, with the cost under the objective for `seconds`, as long as it ran well.

    `disturbed`: another run may be spared what befell one of these. `costs` are what each run took of the budget in seconds, `after` what
    ran directly before it (None: nothing). `stopped` are those whose runs the budget's end cut off, not a limit of their own;
    `whole`: all were run, and none of them stopped so.
    """

    number: int
    samples: Mapping[str, Sample]
    costs: Mapping[str, float]
    after: Mapping[str, str | None]
    disturbed: bool
    stopped: frozenset[str] = frozenset()
    whole: bool = True


@dataclass(frozen=True)
class Stop:
    """When blocks end: `most` of them (None: no bound), or the budget, once there were `fewest`.

    `reserved` runs of the budget are left for what comes after; no block begins that would end after `limit_s` seconds.
    With `again` as many blocks as were disturbed are made besides. A `firm` budget is one that was asked for: it ends also the
    first blocks, and stops a run that would go over it by more than one run takes; another one holds from `fewest` on.
    """

    fewest: int = 1
    most: int | None = None
    reserved: int = 0
    limit_s: float | None = None
    again: bool = True
    firm: bool = True


class Blocks:
    """The loop of one experiment; block numbers go on over all its phases, 0 being what comes before any block."""

    def __init__(
        self,
        recorder: Recorder,
        meter: Meter,
        seed: random.Random,
        objective: Objective = SECONDS,
        before_block: Callable[[], None] = lambda: None,
    ):
        """`before_block` is called before each block that is made, not replayed; it may wait for quiet, at no cost."""
        self._recorder = recorder
        self._meter = meter
        self._order = BalancedOrder(seed)
        self._objective = objective
        self._before_block = before_block
        self._last: str | None = None
        self._slowest_s = 0.0
        self._disturbed, self._met = 0, Counter[str]()
        self.number = 0

    def alone(self, arm: Arm, phase: str) -> tuple[Sample, float]:
        """One run outside of all blocks, and what it took of the budget: a first one, or what is found once for all runs."""
        self._order.ran(arm.key)
        return self._one(arm, phase, 0)

    def progress(
        self, phase: str, leader: str | None = None, speedup: float | None = None, racing: int = 0
    ) -> Progress:
        """Where the experiment is."""
        by = self._met.most_common(1)[0][0] if self._met else ""
        return Progress(phase, self._meter.runs, self._meter.seconds, leader, speedup, racing, self._disturbed, by)

    def restart(self) -> None:
        """Say that the next blocks are judged by themselves, so that none of the first is lost to the order's balance."""
        self._order.restart()

    def allowed_s(self) -> float:
        """How long the next run may take: to the budget's end, and what the slowest good one took more; 0: none may start."""
        seconds = self._meter.budget.seconds
        if seconds is None:
            return math.inf
        left = seconds - self._meter.seconds
        return left + self._slowest_s if left > 0 else 0.0

    def patience_s(self) -> float:
        """How long the next run may take where no budget holds yet."""
        return max(_PATIENCE_S, _PATIENCE * self._slowest_s)

    def run(self, arms: Sequence[Arm], phase: str, allowed_s: Callable[[], float] | None = None) -> Block:
        """Every arm once. `allowed_s` is asked before each run how long it may take (None: `self.allowed_s`); at 0 the block ends there."""
        by_key = {arm.key: arm for arm in arms}
        order = [by_key[key] for key in self._order.next(list(by_key))]
        self.number += 1
        if not self._recorder.replaying:
            with self._meter.standing_still():
                self._before_block()
        samples: dict[str, Sample] = {}
        costs: dict[str, float] = {}
        after: dict[str, str | None] = {}
        for position, arm in enumerate(order):
            most = (allowed_s or self.allowed_s)()
            if most <= 0:
                break
            limits = [s for s in (arm.timeout_s, arm.share_s, most) if s is not None and not math.isinf(s)]
            after[arm.key] = self._last
            limited = replace(arm, timeout_s=min(limits, default=None))
            samples[arm.key], costs[arm.key] = self._one(limited, phase, position)
            if samples[arm.key].ok:
                self._slowest_s = max(self._slowest_s, costs[arm.key])
        if self._last is not None:
            self._order.ran(self._last)
        disturbed = any(repeat_worthy(sample.marks) for sample in samples.values())
        stopped = frozenset(k for k, s in samples.items() if s.stopped_before(by_key[k].timeout_s))
        whole = len(samples) == len(order) and not stopped
        return Block(self.number, samples, costs, after, disturbed, stopped, whole)

    def _one(self, arm: Arm, phase: str, position: int) -> tuple[Sample, float]:
        self._last = arm.key
        sample, cost = self._recorder.sample(arm.setting, phase, self.number, position, arm.timeout_s, arm.around)
        if repeat_worthy(sample.marks):
            self._disturbed += 1
            self._met.update(passing_kinds(sample.marks))
        return self._objective.judged(sample), cost

    def repeat(
        self,
        arms: Callable[[], Sequence[Arm]],
        phase: str,
        stop: Stop,
        take: Callable[[Block], None],
        settled: Callable[[int], bool] = lambda _: False,
        least_arms: int = 1,
    ) -> str:
        """Blocks until `settled` (asked with how many there were), or as `stop` says; what ended it.

        `arms` are asked for before each block, `take` is handed each block. The word is `decided`, `runs`, `budget`, or
        `failed` where fewer than `least_arms` were left.
        """
        made = disturbed = 0
        while True:
            now = arms()
            if len(now) < least_arms or not now:
                return "failed"
            begin = self._meter.seconds
            bound = stop.firm or made >= stop.fewest
            block = self.run(now, phase, self.allowed_s if bound else self.patience_s)
            made += 1
            disturbed += block.disturbed
            take(block)
            if not block.whole:
                return "budget"
            if len(arms()) < least_arms:
                return "failed"
            more = repeats_due(disturbed, stop.most, _MOST_AGAIN) if stop.again and stop.most is not None else 0
            if stop.most is not None and made >= stop.most + more:
                return "runs"
            if made >= stop.fewest and settled(made):
                return "decided"
            spent = self._meter.seconds - begin
            if stop.limit_s is not None and self._meter.seconds + spent > stop.limit_s:
                return "budget"
            enough = stop.firm or made >= stop.fewest
            if enough and self._meter.affordable(spent / len(now)) < len(now) + stop.reserved:
                return "budget"
