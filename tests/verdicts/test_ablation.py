# SPDX-License-Identifier: BSD-3-Clause
"""At which level axes that are put back are judged."""

import math
from pathlib import Path

import pytest

from nodewise.runner.setting import Setting
from nodewise.statistics.compare import Ratio
from nodewise.statistics.sequential import ALPHA
from nodewise.verdicts.ablation import Ablations, ablation_blocks, ablations_of, first_blocks, level_of
from tests.verdicts.cases import Runs, tuned


@pytest.mark.parametrize("axes", [1, 2, 5, 40])
def test_all_axes_share_the_error_and_a_second_look_halves_it(axes: int) -> None:
    first = first_blocks(axes)
    assert 1 - level_of(axes, first) == pytest.approx(ALPHA / axes)
    assert 1 - level_of(axes, first + 1) == pytest.approx(ALPHA / axes / 2)
    # all signs equal is rarer than that
    assert 2.0 ** (1 - ablation_blocks(axes)) <= ALPHA / axes


def test_of_a_setting_that_was_not_confirmed_nothing_is_said(tmp_path: Path) -> None:
    base, one = Setting(("app",)), Setting(("app",), {"a": 1}, name="one")
    made = tuned(tmp_path / "x", [(base, Runs(1.0), [1, 2]), (one, Runs(0.9), [1, 2])])
    assert ablations_of(made, one.key, 0.05, False) == Ablations({}, 0.05)
    assert Ablations({}, 0.05).unseparated == () and Ablations({}, 0.05).notes() == []


def test_an_axis_whose_interval_ends_at_what_counts_as_none_is_idle() -> None:
    found = Ablations({"a": Ratio(1.0, 0.99, 1.02, 10), "b": Ratio(1.0, 0.99, 1.021, 10)}, 1.02 - 1)
    assert [*found.idle] == ["a"] and found.unseparated == ("b",)


@pytest.mark.parametrize(("axes", "more"), [(1, 0), (2, 1), (3, 1)])
def test_of_several_axes_one_block_more_comes_first(axes: int, more: int) -> None:
    assert first_blocks(axes) == ablation_blocks(axes) + more


def test_what_surely_brings_little_is_not_idle_and_what_begins_at_nothing_is() -> None:
    found = Ablations({"a": Ratio(1.005, 1.002, 1.008, 10), "b": Ratio(1.005, 1.0, 1.01, 10)}, 0.02)
    assert [*found.carrying] == ["a"] and [*found.idle] == ["b"] and found.unseparated == ()


def test_so_many_more_blocks_as_the_least_sure_axis_needs() -> None:
    found = Ablations({"a": Ratio(1.1, 0.99, 1.2, 20), "b": Ratio(1.02, 0.9, 1.15, 20)}, 0.01)
    few, many = (found.more_blocks([axis]) for axis in "ab")
    assert few < many == found.more_blocks("ab") == found.more_blocks("ba")


def test_where_the_last_interval_already_would_do_one_block_more_is_asked_for() -> None:
    # a ratio's own middle is not that of its interval: pairs to come have to move it
    assert Ablations({"a": Ratio(1.5, 0.99, 1.6, 20)}, 0.01).more_blocks("a") == 1


def test_of_axes_without_an_interval_the_first_blocks_are_missing() -> None:
    found = Ablations({"a": None, "b": Ratio(1.1, 0.0, math.inf, 3)}, 0.01)
    assert found.more_blocks("a") == ablation_blocks(2) and found.more_blocks("b") == ablation_blocks(2) - 3


@pytest.mark.parametrize(("most", "said"), [(0, "about {} more would"), (-1, "more than {} more would have to")])
def test_more_runs_than_anyone_waits_for_are_not_counted(monkeypatch: pytest.MonkeyPatch, most: int, said: str) -> None:
    found = Ablations({"a": Ratio(1.02, 0.99, 1.05, 20)}, 0.01)
    runs = 2 * found.more_blocks("a")
    monkeypatch.setattr("nodewise.verdicts.ablation.MOST_MORE", runs + most)
    (note,) = found.notes()
    assert note.endswith(said.format(runs + most))
