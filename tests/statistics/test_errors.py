# SPDX-License-Identifier: BSD-3-Clause
"""The error rates that a comparison promises under early stopping, as the benchmark prints them, in fewer experiments."""

import numpy as np
import pytest

from benchmarks.errors import BEFORE, FAMILIES, GAIN, HARDER, sequential
from nodewise.statistics.verdict import Word

EXPERIMENTS = 60
#: What is in step with the orders of two commands is a known weakness: see `statistics.order`.
JUDGED = {name: noise for name, noise in (FAMILIES | HARDER).items() if name != "a period of 4 runs"}


# 60 at 4%: more than 7 would come once in 300 times; of 20 more than 3 once in 130
@pytest.mark.some(6)
@pytest.mark.parametrize(("experiments", "most"), [(20, 3), pytest.param(EXPERIMENTS, 7, marks=pytest.mark.long)])
@pytest.mark.parametrize("family", JUDGED)
def test_equal_commands_are_seldom_called_different(family: str, experiments: int, most: int) -> None:
    random = np.random.default_rng([11, list(JUDGED).index(family)])
    same = [sequential(random, JUDGED[family], 1.0)[0] for _ in range(experiments)]
    assert sum(word in (Word.FASTER, Word.SLOWER) for word in same) <= most


@pytest.mark.parametrize("family", FAMILIES)
def test_a_gain_is_found_in_fewer_runs_than_by_simpler_rules(family: str) -> None:
    random = np.random.default_rng([12, list(FAMILIES).index(family)])
    real = [sequential(random, FAMILIES[family], 1 + GAIN) for _ in range(EXPERIMENTS)]
    assert sum(word is Word.FASTER for word, *_ in real) >= 0.93 * len(real)
    # with the doubt of so few experiments
    assert np.mean([runs for _, runs, _ in real]) < 1.15 * BEFORE[family][0]
