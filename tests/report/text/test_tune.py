# SPDX-License-Identifier: BSD-3-Clause
"""What a tune found, in lines of text."""

from pathlib import Path

import pytest

from nodewise.report.text.tune import tune_text
from nodewise.runner.setting import BASELINE, Setting
from nodewise.verdicts.stored import stored
from nodewise.verdicts.tune import tune_verdict
from tests.verdicts.cases import BUSY, Runs, tuned


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.8, "may be no better"),
        (0.5, "looked 1.75× as fast in these runs, and is not confirmed"),
        (1.3, "looked no better in these runs"),
    ],
)
def test_what_looked_best_and_was_not_shown_to_be_is_said_as_it_looked(
    tmp_path: Path, seconds: float, said: str
) -> None:
    base, other = Setting(("./app",)), Setting(("./app",), {"threads": 2}, env={"OMP_NUM_THREADS": "2"})
    noisy = Runs(1.0, 0.4), Runs(seconds, 0.4)
    made = tuned(
        tmp_path / "x",
        [(base, noisy[0], range(1, 9)), (other, noisy[1], range(1, 9))],
        {BASELINE: noisy[0], other.key: noisy[1]},
        blocks=6,
        candidate=other.key,
        axes={"threads": [1, 2]},
    )
    verdict = tune_verdict(made, "budget")
    if verdict.comparison is not None and "fast in these" in said:
        # as the line beside it has it, not by the medians of all runs
        said = f"looked {verdict.comparison.ratio:.2f}× as fast in these runs, and is not confirmed"
    lines = tune_text(stored(made, verdict), 100).splitlines()
    assert [line.rpartition("which ")[2] for line in lines if line.startswith("next ")] == [said]


def test_on_a_busy_machine_it_looked_as_the_verdict_has_it(tmp_path: Path) -> None:
    base, other = Setting(("./app",)), Setting(("./app",), {"threads": 2}, env={"OMP_NUM_THREADS": "2"})
    busy = {"marks": (BUSY,)}
    made = tuned(
        tmp_path / "x",
        [(base, Runs(1.0), range(1, 9)), (other, Runs(0.9), range(1, 9))],
        {BASELINE: Runs(1.0, fields=busy), other.key: Runs(0.5, fields=busy)},
        blocks=8,
        candidate=other.key,
        axes={"threads": [1, 2]},
    )
    verdict = tune_verdict(made, "budget")
    assert verdict.comparison is not None and verdict.comparison.busy and verdict.comparison.pairs == 0
    assert f"looked {verdict.ratio:.2f}× as fast" in tune_text(stored(made, verdict), 100)
    assert abs(verdict.ratio - 2) < 0.05
