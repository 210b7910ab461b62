# SPDX-License-Identifier: BSD-3-Clause
"""How long a run of a tune may take."""

from types import SimpleNamespace
from typing import cast

import pytest

from nodewise.experiments.blocks import Blocks
from nodewise.experiments.tune_question import Question
from nodewise.experiments.tune_runs import TuneRuns
from nodewise.records.budget import Meter
from nodewise.runner.sample import Sample
from nodewise.runner.setting import BASELINE


def _runs(left_s: float, sweep: bool = False, timeout_s: float | None = None, baseline_s: float = 2.0) -> TuneRuns:
    """Those of a tune on a machine of 8 processors, of whose budget so many seconds are left."""
    question = SimpleNamespace(machine=SimpleNamespace(allowed=tuple(range(8))), sweep=sweep, timeout_s=timeout_s)
    meter = SimpleNamespace(left_s=lambda budget: left_s, budget=None)
    runs = TuneRuns(cast(Question, question), cast(Blocks, None), cast(Meter, meter))
    runs.costs.take(BASELINE, Sample(baseline_s, baseline_s, 0.0), baseline_s, searching=True)
    return runs


@pytest.mark.parametrize(("left_s", "allowed_s"), [(10.0, 12.0), (0.1, 2.1), (0.0, 0.0), (-1.0, 0.0)])
def test_a_run_may_end_one_run_of_the_baseline_after_the_budget_and_none_begins_then(
    left_s: float, allowed_s: float
) -> None:
    assert _runs(left_s)._allowed_s() == pytest.approx(allowed_s)


@pytest.mark.parametrize(
    ("sweep", "timeout_s", "patience_s"),
    [(False, None, 6.5), (True, None, 48.5), (True, 20.0, 20.0), (False, 20.0, 6.5)],
)
def test_a_run_is_cut_off_after_three_times_the_baseline_and_in_a_sweep_not_for_having_one_thread(
    sweep: bool, timeout_s: float | None, patience_s: float
) -> None:
    assert _runs(60.0, sweep, timeout_s).patience_s() == pytest.approx(patience_s)


@pytest.mark.parametrize(("spent_s", "allowed_s"), [(4.9, 12.0), (5.0, 0.0), (6.0, 0.0)])
def test_no_run_of_a_block_is_started_once_its_part_of_the_budget_is_spent(spent_s: float, allowed_s: float) -> None:
    asked = []
    runs = _runs(10.0)
    runs._meter.seconds = spent_s  # type: ignore[misc]
    blocks = SimpleNamespace(
        run=lambda arms, phase, allowed: asked.append(allowed()) or SimpleNamespace(samples={}, costs={})
    )
    runs._blocks = cast(Blocks, blocks)
    runs.block([], "search", 1.0, True, until_s=5.0)
    assert asked == [pytest.approx(allowed_s)]
