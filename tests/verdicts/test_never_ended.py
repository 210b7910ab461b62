# SPDX-License-Identifier: BSD-3-Clause
"""Which values and settings never ran to an end, and what is said of them."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from nodewise.records.columns import Record
from nodewise.records.experiment import Experiment, Writer, read_experiment
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.verdicts.never_ended import cut_counts, cut_off_notes, given_up, why_no_other
from nodewise.verdicts.tune import CONFIRM
from tests.questions import tune_question

BASELINE = Setting(("app",))


def setting(name: str, **values: object) -> Setting:
    return Setting(("app",), values, name=name)


def _tuned(path: Path, runs: Sequence[tuple[Setting, str]], phase: str = "search") -> Experiment:
    """Of each setting the runs that a text has: `.` ended well, `x` failed, `c` was cut off, each after a second more than the one before."""
    with Writer(path, tune_question()) as writer:
        for position, (one, ends) in enumerate([(BASELINE, "..."), *runs]):
            for run, end in enumerate(ends):
                error = {".": None, "x": "exit code 1", "c": "took longer"}[end]
                sample = Sample(1.0 + run, 1.0 + run, 0.0, error=error, cut_off=end == "c")
                writer.add(Record(one.key, phase, run + 1, position, sample), one)
    return read_experiment(path)


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ([(setting("s", a=1), "c")], "a=1 was cut off in its only run, after 1 s"),
        ([(setting("s", a=1), "ccc")], "a=1 was cut off in all of its 3 runs, the longest after 3 s"),
        ([(setting("s", a=1), "cx")], "a=1 was cut off in 1 of 2 runs, the longest after 1 s, and failed in the other"),
        ([(setting("s", a=1), "cxx")], "a=1 was cut off in 1 of 3 runs, the longest after 1 s, and failed in the others"),
        # one bad value in two settings is blamed once, where another value of each ended well
        (
            [(setting("s", a=1, b=1), "c"), (setting("t", a=1, b=2), "cc"), (setting("u", a=2, b=1), "."), (setting("v", a=2, b=2), ".")],
            "a=1 was cut off in all of its 3 runs, the longest after 2 s",
        ),
        # each value ended well elsewhere: both together are to blame
        (
            [(setting("s", a=1, b=1), "c"), (setting("t", a=1, b=2), "."), (setting("u", a=2, b=1), ".")],
            "a=1 with b=1 was cut off in its only run, after 1 s",
        ),
        # what a value alone explains is not blamed again with others
        (
            [(setting("s", a=1), "c"), (setting("t", a=1, b=1), "c")],
            "a=1 was cut off in all of its 2 runs, the longest after 1 s",
        ),
        (
            [(setting("t", a=1, b=1), "c"), (setting("s", a=1), "c")],
            "a=1 was cut off in all of its 2 runs, the longest after 1 s",
        ),
        # one of its settings was cut off, another only failed
        (
            [(setting("s", a=1), "c"), (setting("t", a=1, b=1), "x")],
            "a=1 was cut off in 1 of 2 runs, the longest after 1 s, and failed in the other",
        ),
    ],
)  # fmt: skip
def test_what_is_to_blame_is_named_with_how_often(tmp_path: Path, runs: list[tuple[Setting, str]], said: str) -> None:
    assert cut_off_notes(_tuned(tmp_path / "x", runs), CONFIRM) == [said]


@pytest.mark.parametrize("ends", ["x", "xx", ".c", ".", "c."])
def test_what_failed_or_ended_once_is_not_said_to_be_cut_off(tmp_path: Path, ends: str) -> None:
    assert cut_off_notes(_tuned(tmp_path / "x", [(setting("s", a=1), ends)]), CONFIRM) == []


def test_of_more_than_six_the_rest_is_counted(tmp_path: Path) -> None:
    def notes(count: int) -> list[str]:
        return cut_off_notes(_tuned(tmp_path / str(count), [(setting(f"s {n}", a=n), "c") for n in range(count)]), "x")

    six = notes(6)
    assert len(six) == 6 and not any("more settings" in note for note in six)
    assert notes(8)[6:] == ["2 more settings or values were cut off, too, in all of their runs"]


@pytest.mark.parametrize(
    ("ends", "gone", "why"),
    [
        ("cc", True, "the only other setting was cut off"),
        (".cc", True, "the only other setting was cut off now and then"),
        ("xcc", True, "the only other setting failed"),
        ("xc", False, "the only other setting failed"),
        ("c", False, "the only other setting was cut off"),
    ],
)
def test_two_runs_that_were_cut_off_give_a_setting_up(tmp_path: Path, ends: str, gone: bool, why: str) -> None:
    experiment = _tuned(tmp_path / "x", [(setting("s", a=1), ends)], CONFIRM)
    assert given_up(experiment, CONFIRM) == (["s"] if gone else [])
    # those of the search do not count
    assert given_up(experiment, "search") == []
    assert why_no_other(experiment, CONFIRM) == why


def test_one_that_was_given_up_is_named_where_its_values_are_not(tmp_path: Path) -> None:
    experiment = _tuned(tmp_path / "x", [(setting("s", a=1), ".cc")], CONFIRM)
    assert cut_off_notes(experiment, CONFIRM) == ["s was cut off in 2 of 3 runs, the longest after 3 s"]
    always = _tuned(tmp_path / "y", [(setting("s", a=1), "cc")], CONFIRM)
    assert cut_off_notes(always, CONFIRM) == ["a=1 was cut off in all of its 2 runs, the longest after 2 s"]


def test_how_several_went_is_joined(tmp_path: Path) -> None:
    assert why_no_other(_tuned(tmp_path / "x", []), CONFIRM) == "no other setting ran"
    both = _tuned(tmp_path / "y", [(setting("s", a=1), "cc"), (setting("t", a=2), "x")], CONFIRM)
    assert why_no_other(both, CONFIRM) == "every other setting was cut off or failed"


def test_of_a_setting_without_values_no_value_is_to_blame(tmp_path: Path) -> None:
    assert not any("=" in note for note in cut_off_notes(_tuned(tmp_path / "x", [(setting("s"), "c")]), CONFIRM))


def test_runs_are_counted_with_the_longest_that_was_cut_off(tmp_path: Path) -> None:
    experiment = _tuned(tmp_path / "x", [(setting("s", a=1), ".c.cx"), (setting("t", a=2), ".x")])
    assert cut_counts(experiment, "s") == (5, 2, 4.0) and cut_counts(experiment, "t") == (2, 0, 0.0)
