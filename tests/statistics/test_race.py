# SPDX-License-Identifier: BSD-3-Clause
"""Who is dropped from a race, and who is not."""

import math

import numpy as np
import pytest

from nodewise.statistics.race import Race, pool_noise


def _times(random: np.random.Generator, centres: dict[str, float], blocks: int, sigma: float) -> dict[str, list[float]]:
    drift = 1 + 0.3 * np.arange(blocks)
    return {arm: list(c * drift * np.exp(random.normal(0, sigma, blocks))) for arm, c in centres.items()}


def test_after_one_block_nobody_is_dropped() -> None:
    assert Race({"a": [1.0], "b": [100.0]}).surely_worse() == []


def test_the_noise_is_estimated_through_drift() -> None:
    arms = {str(i): 1.0 + i for i in range(40)}
    race = Race(_times(np.random.default_rng(1), arms, 6, 0.02))
    assert race.noise == pytest.approx(0.02, rel=0.2)


def test_the_far_slower_are_dropped_and_the_equals_stay() -> None:
    random = np.random.default_rng(2)
    wrong = 0
    for _ in range(100):
        race = Race(_times(random, {"best": 1.0, "equal": 1.0, "near": 1.005, "far": 1.5, "x": 1.3, "y": 1.4}, 4, 0.01))
        dropped = race.surely_worse()
        assert set(dropped) >= {"far", "x", "y"}
        wrong += "equal" in dropped or "best" in dropped
    assert wrong <= 2


def test_one_outlier_in_two_blocks_does_not_drop_the_best() -> None:
    arms = {str(i): [2.0 + i / 10, 2.0 + i / 10 + 0.001 * i] for i in range(8)}
    assert "good" not in Race({**arms, "good": [1.99, 9.0]}).surely_worse()


def test_pooled_noise_of_nothing_is_unknown() -> None:
    assert pool_noise([]) is None
    assert math.isfinite(pool_noise([0.1, 0.2]) or math.nan)


def test_arms_with_unequal_blocks_are_refused() -> None:
    with pytest.raises(ValueError, match="every arm"):
        Race({"a": [1.0], "b": [1.0, 2.0]})
