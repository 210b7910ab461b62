# SPDX-License-Identifier: BSD-3-Clause
"""Which number of a sample is compared: its value, its cost, and the same of a column of samples."""

import math

import pytest

from nodewise.runner.objective import SECONDS, Objective, value_of
from nodewise.runner.sample import Sample

RUN = Sample(
    2.0,
    3.0,
    0.0,
    metrics={"work": 10.0, "none": 0.0, "debt": -1.0},
    usage={"user_s": 1.5, "system_s": 0.25},
    conditions={"energy_j": 7.0},
)


def test_values_by_their_names() -> None:
    expected = {"seconds": 2.0, "wall_s": 3.0, "cpu_s": 1.75, "work": 10.0, "work/s": 5.0, "energy_j": 7.0, "x": None}
    assert {name: value_of(RUN, name) for name in expected} == expected
    assert value_of(Sample(0.0, 1.0, 0.0, metrics={"work": 1.0}), "work/s") is None
    assert value_of(Sample(1.0, 1.0, 0.0, usage={"user_s": 1.0}), "cpu_s") is None


def test_of_what_is_to_be_large_the_cost_is_its_inverse() -> None:
    rate = Objective("work/s", maximise=True)
    assert rate.cost(RUN) == pytest.approx(0.2) and rate.value(0.2) == pytest.approx(5.0)
    assert rate.judged(RUN).seconds == pytest.approx(0.2)
    assert Objective("energy_j").judged(RUN).seconds == 7.0 and Objective("energy_j").value(7.0) == 7.0
    assert SECONDS.judged(RUN) is RUN and SECONDS.cost(RUN) == 2.0


@pytest.mark.parametrize("name", ["none", "debt", "absent"])
def test_what_is_not_above_zero_has_no_cost(name: str) -> None:
    for objective in (Objective(name), Objective(name, maximise=True)):
        assert objective.cost(RUN) is None
        assert objective.judged(RUN).error == f"the run reports no {name} above zero"
    failed = Sample(math.nan, 1.0, 0.0, error="exit code 1")
    assert SECONDS.cost(failed) is None and Objective("none").judged(failed) is failed
