# SPDX-License-Identifier: BSD-3-Clause
"""A tune's verdict from its stored runs: what is said of the axes of a gain."""

from pathlib import Path

import pytest

from nodewise.records.columns import Record
from nodewise.records.experiment import Plan, Writer, read_experiment
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.verdicts.tune import CONFIRM, TuneVerdict, tune_verdict
from tests.questions import tune_question

BASELINE = Setting(("app",))
BOTH = Setting(("app",), {"a": 1, "b": 1}, name="both")
NO_A, NO_B = Setting(("app",), {"b": 1}, name="no a"), Setting(("app",), {"a": 1}, name="no b")


def concluded(path: Path, without_b: float) -> TuneVerdict:
    """The verdict where both axes together take 0.5 s, without a the baseline's 1 s, and without b as many as are given."""
    question = tune_question(axes={"a": [0, 1], "b": [0, 1]})
    times = {BASELINE.key: 1.0, BOTH.key: 0.5, NO_A.key: 1.0, NO_B.key: without_b}
    with Writer(path, question) as writer:
        writer.add_plan(Plan(BOTH.key, (10,), 0.05, {"a": NO_A.key, "b": NO_B.key}))
        for block in range(20):
            arms = (BASELINE, BOTH) if block < 10 else (BOTH, NO_A, NO_B)
            for position, setting in enumerate(arms if block % 2 else arms[::-1]):
                seconds = times[setting.key] * (1 + 0.001 * (block % 5))
                record = Record(setting.key, CONFIRM, block + 1, position, Sample(seconds, seconds, 0.0))
                writer.add(record, setting)
    return tune_verdict(read_experiment(path), "decided")


@pytest.mark.parametrize(("without_b", "share"), [(0.5, 0.0), (0.8, 0.4)])
def test_an_axis_that_adds_nothing_is_named(tmp_path: Path, without_b: float, share: float) -> None:
    verdict = concluded(tmp_path / "x", without_b)
    assert verdict.verdict == "faster"
    assert verdict.axes["b"] == pytest.approx(share, abs=0.01)
    named = [note for note in verdict.notes if "made no measurable difference" in note]
    assert [note.split()[0] for note in named] == ([] if share else ["b"])
