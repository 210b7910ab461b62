# SPDX-License-Identifier: BSD-3-Clause
"""A gain that was another one in the search is named."""

from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from nodewise.records.columns import WARM_UP, Record
from nodewise.records.experiment import Plan, Writer, read_experiment
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.statistics.order import BalancedOrder
from nodewise.verdicts.steadiness import slow_runs_note
from nodewise.verdicts.tune import CONFIRM, TuneVerdict, tune_verdict
from tests.questions import tune_question

BASELINE = Setting(("app",))
#: The reduced candidate starts as what the search ran does.
RAN = Setting(("app",), {"a": 1, "b": 0}, env={"A": "1"}, name="a b")
REDUCED = Setting(("app",), {"a": 1}, env={"A": "1"}, name="a")


def _concluded(path: Path, slow: float, searched: int = 8, phase: str = "search") -> TuneVerdict:
    """The verdict of 1 s against 0.5 s, where the search had seen the baseline take `slow`."""
    made = [(phase, slow, RAN)] * searched + [(CONFIRM, 1.0, REDUCED)] * 10
    with Writer(path, tune_question(axes={"a": [0, 1], "b": [0, 1]})) as writer:
        writer.add_plan(Plan(REDUCED.key, (10,), 0.05, {}, ("a", "b")))
        for block, (phase, seconds, candidate) in enumerate(made):
            arms = [(BASELINE, seconds), (candidate, 0.5)]
            for position, (setting, took) in enumerate(arms if block % 2 else arms[::-1]):
                sample = Sample(took * (1 + 0.001 * (block % 5)), took, 0.0)
                writer.add(Record(setting.key, phase, block + 1, position, sample), setting)
    return tune_verdict(read_experiment(path), "decided")


@pytest.mark.parametrize(("slow", "searched"), [(1.0, 8), (1.09, 8), (2.0, 5)])
def test_a_gain_that_is_as_the_search_saw_it_is_promised_alone(tmp_path: Path, slow: float, searched: int) -> None:
    verdict = _concluded(tmp_path / "x", slow, searched)
    assert verdict.verdict == "faster" and verdict.ratio == pytest.approx(2.0, abs=0.01)
    assert verdict.high is not None and verdict.high < 2.02
    assert not [note for note in verdict.notes if "in the search" in note]


@pytest.mark.parametrize("slow", [0.6, 1.2, 2.0])
def test_of_a_gain_that_changed_since_the_search_both_are_promised(tmp_path: Path, slow: float) -> None:
    verdict = _concluded(tmp_path / "x", slow)
    assert verdict.verdict == "faster" and verdict.ratio == pytest.approx(2.0, abs=0.01)
    assert verdict.low == pytest.approx(min(2.0, slow / 0.5), rel=0.01)
    assert verdict.high == pytest.approx(max(2.0, slow / 0.5), rel=0.01)
    (note,) = (note for note in verdict.notes if "in the search" in note)
    assert note.startswith(f"the gain was {slow / 0.5:.1f}")


def test_runs_that_warm_up_are_no_gain_that_was_seen(tmp_path: Path) -> None:
    verdict = _concluded(tmp_path / "x", 3.0, phase=WARM_UP)
    assert verdict.verdict == "faster" and verdict.high is not None and verdict.high < 2.02
    assert not [note for note in verdict.notes if "in the search" in note]


def test_a_gain_that_was_none_in_the_search_is_not_promised(tmp_path: Path) -> None:
    verdict = _concluded(tmp_path / "x", 0.5)
    assert verdict.verdict == "undecided" and verdict.reason.startswith(
        "the gain came and went: in the search it was 1.0"
    )
    assert verdict.best == verdict.baseline and verdict.more_runs is None


@pytest.mark.parametrize(("slow", "count", "said"), [(3.0, 3, True), (3.0, 2, False), (0.9, 3, False)])
def test_runs_that_are_slower_than_all_of_the_baselines_are_named(
    tmp_path: Path, slow: float, count: int, said: bool
) -> None:
    order = BalancedOrder(Random(1))
    settings = {BASELINE.key: (BASELINE, 1.0), REDUCED.key: (REDUCED, 0.5)}
    with Writer(tmp_path / "x", tune_question(axes={"a": [0, 1]})) as writer:
        writer.add_plan(Plan(REDUCED.key, (20,), 0.05, {}, ("a",)))
        for block in range(20):
            for position, key in enumerate(order.next(list(settings))):
                setting, took = settings[key]
                took = slow if setting is REDUCED and block < count else took * (1 + 0.001 * (block % 5))
                writer.add(Record(key, CONFIRM, block + 1, position, Sample(took, took, 0.0)), setting)
    verdict = tune_verdict(read_experiment(tmp_path / "x"), "decided")
    assert verdict.verdict == "faster"
    notes = [note for note in verdict.notes if "slower than all" in note]
    if said:
        # a block with unequal predecessors does not decide
        (note,) = notes
        assert note.startswith("3 of 19 runs of it were slower than all of the baseline's (3 s at worst, against 1 s)")
    else:
        assert notes == []


def test_runs_that_are_slower_than_some_of_the_baselines_are_not_slower_than_all() -> None:
    pairs: Any = SimpleNamespace(deciding=lambda accept: ([1.0, *[2.0] * 9], [1.5] * 5 + [0.5] * 5))
    assert slow_runs_note(pairs, "seconds", False, False) == ""


def _slow_of(slow: int, runs: int) -> Any:
    return SimpleNamespace(deciding=lambda accept: ([2.0] * runs, [3.0] * slow + [1.0] * (runs - slow)))


@pytest.mark.parametrize(
    ("slow", "runs", "said"), [(2, 10, False), (3, 10, True), (3, 60, True), (4, 100, False), (5, 100, True)]
)
def test_they_are_named_from_three_and_from_a_twentieth_of_all(slow: int, runs: int, said: bool) -> None:
    note = slow_runs_note(_slow_of(slow, runs), "seconds", False, False)
    assert bool(note) is said
    assert (
        not said
        or f"{slow} of {runs} runs of it were slower than all of the baseline's (3 s at worst, against 2 s)" in note
    )


def test_the_worst_of_the_slow_runs_is_shown_and_the_slowest_of_the_baseline() -> None:
    pairs: Any = SimpleNamespace(deciding=lambda accept: ([1.0, 2.0, 1.5] * 4, [3.0, 5.0, 4.0, *[1.0] * 9]))
    assert "(5 s at worst, against 2 s)" in slow_runs_note(pairs, "seconds", False, False)


def test_of_a_rate_the_slow_runs_are_the_low_ones() -> None:
    pairs: Any = SimpleNamespace(deciding=lambda accept: ([1.0, 2.0, 1.5] * 4, [4.0, 4.0, 4.0, *[1.0] * 9]))
    assert "(0.25 at worst, against 0.5)" in slow_runs_note(pairs, "rate", True, False)
