# SPDX-License-Identifier: BSD-3-Clause
"""A gain that was another one in the search is named."""

from pathlib import Path

import pytest

from nodewise.records.columns import Record
from nodewise.records.experiment import Plan, Writer, read_experiment
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.verdicts.tune import CONFIRM, TuneVerdict, tune_verdict
from tests.questions import tune_question

BASELINE = Setting(("app",))
#: The reduced candidate starts as what the search ran does.
RAN = Setting(("app",), {"a": 1, "b": 0}, env={"A": "1"}, name="a b")
REDUCED = Setting(("app",), {"a": 1}, env={"A": "1"}, name="a")


def _concluded(path: Path, slow: float, searched: int = 8) -> TuneVerdict:
    """The verdict of 1 s against 0.5 s, where the search had seen the baseline take `slow`."""
    made = [("search", slow, RAN)] * searched + [(CONFIRM, 1.0, REDUCED)] * 10
    with Writer(path, tune_question(axes={"a": [0, 1], "b": [0, 1]})) as writer:
        writer.add_plan(Plan(REDUCED.key, (10,), 0.05, {}, ("a", "b")))
        for block, (phase, seconds, candidate) in enumerate(made):
            arms = [(BASELINE, seconds), (candidate, 0.5)]
            for position, (setting, took) in enumerate(arms if block % 2 else arms[::-1]):
                sample = Sample(took * (1 + 0.001 * (block % 5)), took, 0.0)
                writer.add(Record(setting.key, phase, block + 1, position, sample), setting)
    return tune_verdict(read_experiment(path), "decided")


@pytest.mark.parametrize(
    ("slow", "searched", "named"), [(1.0, 8, 0), (1.09, 8, 0), (0.6, 8, 1), (2.0, 8, 1), (2.0, 5, 0)]
)
def test_a_gain_that_changed_since_the_search_is_named(tmp_path: Path, slow: float, searched: int, named: int) -> None:
    verdict = _concluded(tmp_path / "x", slow, searched)
    assert verdict.verdict == "faster" and verdict.ratio == pytest.approx(2.0, abs=0.01)
    notes = [note for note in verdict.notes if note.startswith("the gain was another one in the search")]
    assert len(notes) == named
    assert all(f"{slow / 0.5:.1f}" in note for note in notes)
