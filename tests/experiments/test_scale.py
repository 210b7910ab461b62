# SPDX-License-Identifier: BSD-3-Clause
"""scale from the question to the verdict, on programs that exist only as formulas."""

import json
import math
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nodewise.base.errors import ProgramError
from nodewise.experiments.scale import ScaleQuestion, scale
from nodewise.records.budget import Budget
from nodewise.records.experiment import read_experiment
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.verdicts.encoding import encode
from nodewise.verdicts.scale import judge_scale
from tests.surfaces import machine


class Formula:
    """A Launcher whose runs take what a formula says of the setting, or fail as it says."""

    def __init__(self, seconds: Callable[[Setting], float | str]):
        self._seconds, self.settings, self.limits = seconds, list[Setting](), list[float | None]()

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        self.limits.append(timeout_s)
        self.settings.append(setting)
        told = self._seconds(setting)
        at = float(len(self.settings))
        if isinstance(told, str):
            return Sample(0.1, 0.1, at, error=told, output="what it printed")
        seconds = told * math.exp(random.Random(f"{setting.key}/{at}").gauss(0, 0.02))
        return Sample(seconds, seconds, at)

    def close(self) -> None:
        """Nothing is kept running."""


def threads(setting: Setting) -> int:
    return int(setting.env.get("OMP_NUM_THREADS", "1"))


def question(out: Path, *command: str, **more: Any) -> ScaleQuestion:
    given: dict[str, Any] = {"over": "threads", "counts": (1, 2, 4, 8, 16), "environment": {}, "budget": Budget(None)}
    return ScaleQuestion(command or ("a",), machine(16, 1), out / "x", **{**given, **more})


def test_each_number_of_threads_runs_once_in_each_block(tmp_path: Path) -> None:
    launcher = Formula(lambda s: 0.5 + 9.5 / threads(s))
    found = scale(question(tmp_path, most=8), launcher)
    assert (found.blocks, found.runs, found.stopped) == (8, 41, "runs") and found.law is not None
    assert {s.key: threads(s) for s in launcher.settings[1:]} == {f"threads={n}": n for n in (1, 2, 4, 8, 16)}
    assert judge_scale(read_experiment(tmp_path / "x")) == found
    assert json.loads((tmp_path / "x/verdict.json").read_text()) == json.loads(json.dumps(encode(found)))


@pytest.mark.parametrize(
    ("budget_s", "timeout_s", "first"),
    [(None, None, None), (2.0, None, 2.0), (2.0, 60.0, 2.0), (90.0, 60.0, 60.0), (None, 60.0, 60.0)],
)
def test_the_first_run_ends_with_the_budget_or_its_time_limit_whichever_is_sooner(
    tmp_path: Path, budget_s: float | None, timeout_s: float | None, first: float | None
) -> None:
    launcher = Formula(lambda s: 0.5 + 9.5 / threads(s))
    scale(question(tmp_path, most=6, budget=Budget(budget_s), timeout_s=timeout_s), launcher)
    assert launcher.limits[0] == (None if first is None else pytest.approx(first, abs=0.5))


def test_the_number_stands_where_its_name_is(tmp_path: Path) -> None:
    launcher = Formula(lambda s: 1 / float(s.command[-1]))
    found = scale(question(tmp_path, "a", "-j", "{threads}", most=6), launcher)
    assert {s.command for s in launcher.settings} == {("a", "-j", str(n)) for n in (1, 2, 4, 8, 16)}
    assert found.points[-1].speedup == pytest.approx(16, rel=0.1)


def test_ranks_and_nodes_start_as_many_ranks(tmp_path: Path) -> None:
    launcher = Formula(lambda s: 10 / float(s.command[2]))
    command = ("mpirun", "-n", "16", "-ppn", "2", "a", "{ranks}")
    found = scale(question(tmp_path, *command, over="ranks", per_node=2, most=6), launcher)
    assert (
        {s.command[2] for s in launcher.settings} == {s.command[-1] for s in launcher.settings} == set("1248") | {"16"}
    )
    assert found.points[-1].efficiency == pytest.approx(1, rel=0.1)
    (tmp_path / "n").mkdir()
    launcher = Formula(lambda s: 10 / float(s.command[2]))
    scale(question(tmp_path / "n", *command[:-1], over="nodes", counts=(1, 2), per_node=2, most=6), launcher)
    assert {(s.key, s.command[2]) for s in launcher.settings} == {("nodes=1", "2"), ("nodes=2", "4")}


def test_a_number_that_fails_runs_no_more_and_the_others_go_on(tmp_path: Path) -> None:
    launcher = Formula(lambda s: "exit code 3" if threads(s) == 16 else 1.0)
    found = scale(question(tmp_path, most=6), launcher)
    assert found.points[-1].error == "exit code 3" and found.points[0].runs == 6
    assert sum(s.key == "threads=16" for s in launcher.settings) == 1


def test_a_program_that_does_not_run_is_one_error_and_nothing_is_kept(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="does not run with threads=1: exit code 3; it printed:\nwhat it printed"):
        scale(question(tmp_path), Formula(lambda s: "exit code 3"))
    assert not (tmp_path / "x").exists()


def test_it_goes_on_where_it_was_cut_off(tmp_path: Path) -> None:
    asked = question(tmp_path, most=8)
    cut = Formula(lambda s: 1 / threads(s))

    def until_then(setting: Setting) -> float:
        if len(cut.settings) > 23:
            raise KeyboardInterrupt
        return 1 / threads(setting)

    cut._seconds = until_then
    assert scale(asked, cut).stopped == "interrupted"
    rest = Formula(lambda s: 1 / threads(s))
    found = scale(replace(asked, resume=True), rest)
    assert (found.runs, len(rest.settings), found.blocks) == (41, 41 - 23, 8)
