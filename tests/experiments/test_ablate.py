# SPDX-License-Identifier: BSD-3-Clause
"""What carries a gain is looked at twice where the first look leaves it open and the budget has the runs."""

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from nodewise.experiments.ablate import Ablate
from nodewise.experiments.tune_runs import TuneRuns
from nodewise.records.budget import Budget, Meter
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.verdicts.ablation import ablation_blocks, first_blocks, level_of

BEST = Setting(("app",), {"a": 1, "b": 1}, name="best")
ARMS = {"a": Setting(("app",), {"b": 1}, {"A": "0"}), "b": Setting(("app",), {"a": 1}, {"B": "0"})}
BOTH = (BEST, *ARMS.values())


class Made:
    """In the place of TuneRuns: each setting takes its seconds, but for noise, and is counted."""

    def __init__(
        self, seconds: Sequence[float], noise: float, runs: int, seed: int = 0, fails: frozenset[int] = frozenset()
    ):
        self.counts: Counter[str] = Counter()
        self.meter = Meter(Budget(None, runs))
        self._seconds = dict(zip((s.key for s in BOTH), seconds, strict=True))
        self._noise, self._dice, self._fails = noise, random.Random(seed), fails

    def patience_s(self) -> float:
        return math.inf

    def block(self, settings: Sequence[Setting], phase: str, timeout_s: float, searching: bool) -> Any:
        samples = {}
        for one in settings:
            self.counts[one.key] += 1
            self.meter.count(0.0)
            seconds = self._seconds[one.key] * math.exp(self._dice.gauss(0, self._noise))
            error = "exit code 3" if one is BEST and self.counts[one.key] in self._fails else None
            samples[one.key] = Sample(seconds, seconds, 0.0, error=error)
        return SimpleNamespace(samples=samples)


def _made(runs: Made, arms: Mapping[str, Setting] = ARMS) -> tuple[bool, list[int]]:
    """Whether the candidate held, and how often each ran."""
    failed = Counter[str]()

    def fails(samples: Mapping[str, Sample]) -> bool:
        failed.update(key for key, sample in samples.items() if not sample.ok)
        return failed[BEST.key] > 1

    held = Ablate(cast(TuneRuns, runs), runs.meter, 0.0, 0.01, fails).run(BEST, arms)
    return held, [runs.counts[s.key] for s in BOTH]


@pytest.mark.parametrize("seed", range(5))
def test_what_is_clear_takes_the_first_blocks_alone(seed: int) -> None:
    assert _made(Made((1.0, 1.5, 1.3), 0.01, 1000, seed)) == (True, [first_blocks(2)] * 3)


def test_what_is_open_gets_more_and_what_is_clear_no_more_of_them() -> None:
    further = 0
    for seed in range(20):
        held, (best, a, b) = _made(Made((1.0, 1.1, 2.0), 0.05, 1000, seed))
        assert held
        assert best == a >= b == first_blocks(2)
        further += a > b
    assert further >= 8


def test_none_are_made_that_the_budget_cannot_pay_or_that_would_never_do() -> None:
    # for the first blocks, and not for as many again
    for seed in range(5):
        assert _made(Made((1.0, 1.1, 2.0), 0.05, 3 * first_blocks(2) + 2, seed)) == (True, [first_blocks(2)] * 3)
        # neither nothing nor more than nothing, in thousands of blocks
        assert _made(Made((1.0, 1.005, 2.0), 0.3, 100_000, seed))[1] == [first_blocks(2)] * 3
    # of as many axes as there are runs for, and of none
    assert _made(Made((1.0, 1.5, 1.3), 0.01, 2 * ablation_blocks(2)))[1][2] == 0
    assert _made(Made((1.0, 1.5, 1.3), 0.01, 5)) == (True, [0, 0, 0])
    assert _made(Made((1.0, 1.5, 1.3), 0.01, 500), {}) == (True, [0, 0, 0])


def test_a_candidate_that_fails_ends_it_at_once() -> None:
    # of a block in which it failed nothing is known, and another one is made
    assert _made(Made((1.0, 1.5, 1.3), 0.01, 1000, fails=frozenset({2}))) == (True, [first_blocks(2) + 1] * 3)
    assert _made(Made((1.0, 1.5, 1.3), 0.01, 1000, fails=frozenset({2, 4}))) == (False, [4] * 3)
    last = first_blocks(2) + 1
    held, (best, _, b) = _made(Made((1.0, 1.1, 2.0), 0.05, 1000, 0, fails=frozenset({last, last + 1})))
    assert (held, best, b) == (False, last + 1, first_blocks(2))


@pytest.mark.parametrize("axes", [1, 2, 5])
def test_two_looks_share_the_error_of_one(axes: int) -> None:
    assert level_of(axes, first_blocks(axes)) == pytest.approx(1 - 0.05 / axes)
    assert level_of(axes, first_blocks(axes) + 1) == pytest.approx(1 - 0.025 / axes)
