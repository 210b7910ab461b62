# SPDX-License-Identifier: BSD-3-Clause
"""Ranks as an axis that nobody names: only where a setting that does less work would be seen to."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nodewise.experiments.same_work import SameWork
from nodewise.experiments.tune import tune
from nodewise.experiments.tune_question import Question
from nodewise.records.budget import Budget
from nodewise.runner.same_output import ANY_OUTPUT, Kind, SameOutput, repeatable
from nodewise.runner.sample import Sample
from nodewise.runner.setting import BASELINE, Setting
from nodewise.verdicts.tune import TuneVerdict
from tests.surfaces import Scripted, machine

AS_USUAL = SameOutput()
EIGHT = machine(8, 1)


class Ranked(Scripted):
    """A program of ranks that overwhelm each other: each further one costs. `divided`: all ranks together have the same work."""

    def __init__(self, divided: bool, counted: bool = False, printed: str = "") -> None:
        super().__init__(lambda s: 1.0 + 0.2 * (s.ranks or 1) if divided else 0.1 + 0.2 * (s.ranks or 1))
        self._divided, self._counted, self._printed = divided, counted, printed
        self.seen: set[int] = set()

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        sample = super().run(setting, timeout_s=timeout_s)
        ranks = setting.ranks or 1
        self.seen.add(ranks)
        text = self._printed.format(ranks=ranks, work=1.0 if self._divided else ranks / 4, run=self.runs)
        items = {"items": 1000.0 * (1 if self._divided else ranks)} if self._counted else {}
        return replace(sample, metrics=items, answer=repeatable(text), answer_text=text)


def _tuned(out: Path, program: Ranked, same: SameOutput = AS_USUAL, **changes: Any) -> TuneVerdict:
    command = ("mpirun", "-n", "4", "./app")
    question = Question(
        command, EIGHT, None, out / "x", Budget(None, 120), environment={"PATH": ""}, same=same, **changes
    )
    return tune(question, program)


@pytest.mark.parametrize(
    "proof",
    [
        {"counted": True},
        {"printed": "sum {work:.6f}"},
        {"printed": "{ranks} ranks, sum {work:.6f}, 1.{run} s"},
    ],
    ids=["counted", "printed", "beside times"],
)
def test_ranks_are_tried_where_their_work_is_seen_to_be_the_same(tmp_path: Path, proof: dict[str, Any]) -> None:
    found = _tuned(tmp_path, Ranked(divided=True, **proof))
    assert (found.verdict, found.best.values["ranks"]) == ("faster", 1)


@pytest.mark.parametrize("proof", [{"counted": True}, {"printed": "sum {work:.6f}"}], ids=["counted", "printed"])
def test_ranks_that_do_less_are_not_faster(tmp_path: Path, proof: dict[str, Any]) -> None:
    program = Ranked(divided=False, **proof)
    found = _tuned(tmp_path, program)
    assert 1 in program.seen and found.best.values.get("ranks", 4) >= 4


@pytest.mark.some(3)
@pytest.mark.parametrize(
    "printed",
    ["", "done", "version 4.1.4", "65536 points", "12.5", "sum {run}.345678"],
    ids=lambda text: text or "nothing",
)
def test_ranks_stay_where_nothing_shows_what_they_did(tmp_path: Path, printed: str) -> None:
    program = Ranked(divided=False, printed=printed)
    _tuned(tmp_path, program)
    assert program.seen == {4}


def test_what_is_asked_to_be_the_same_is_an_answer_and_any_output_is_none(tmp_path: Path) -> None:
    asked, any_output = Ranked(divided=True, printed="ok 7"), Ranked(divided=True, printed="sum {work:.6f}")
    _tuned(tmp_path / "a", asked, SameOutput(Kind.OUTPUT))
    _tuned(tmp_path / "b", any_output, ANY_OUTPUT)
    assert 1 in asked.seen and any_output.seen == {4}


def test_an_output_that_no_longer_repeats_ends_what_it_proved(tmp_path: Path) -> None:
    class Straying(Ranked):
        def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
            sample = super().run(setting, timeout_s=timeout_s)
            stray = f"sum {self.runs}.123456" if self.runs > 30 else sample.answer
            return replace(sample, answer=stray, answer_text=stray)

    found = _tuned(tmp_path, Straying(divided=True, printed="sum {work:.6f}"))
    assert found.best.values.get("ranks", 4) == 4


def test_a_tune_over_ranks_goes_on_as_it_would_have(tmp_path: Path) -> None:
    whole = _tuned(tmp_path / "a", Ranked(divided=True, printed="sum {work:.6f}"))
    program = Ranked(divided=True, printed="sum {work:.6f}")
    program._interrupt_at = 25
    _tuned(tmp_path / "b", program)
    program._interrupt_at = -1
    again = _tuned(tmp_path / "b", program, resume=True)
    assert again.best.values == whole.best.values and again.runs > 25


def _counted(judge: SameWork, ranks: int, items: float, baseline: bool = False) -> str | None:
    """The error of a run with so many ranks that counted so much."""
    setting = Setting(("mpirun", "./app"), ranks=ranks, values={} if baseline else {"ranks": ranks})
    assert (setting.key == BASELINE) is baseline
    return judge.judged(setting, Sample(1.0, 1.0, 0.0, metrics={"items": items})).error


def test_less_than_99_percent_of_the_work_is_other_work() -> None:
    judge = SameWork(4, None)
    assert _counted(judge, 4, 1000, baseline=True) is None
    assert _counted(judge, 2, 990) is None and _counted(judge, 2, 2000) is None
    assert _counted(judge, 2, 989) == "not the same work: 989 items were counted, 1000 of the program as it is"
    assert "0 items were counted" in (_counted(judge, 2, 0) or "")


def test_the_first_run_of_the_baseline_says_how_much_work_there_is() -> None:
    judge = SameWork(4, None)
    assert not judge.proven
    _counted(judge, 4, 1000, baseline=True)
    assert judge.proven
    # a later one that counts otherwise changes nothing
    _counted(judge, 4, 500, baseline=True)
    assert _counted(judge, 2, 900) and not _counted(judge, 2, 1000)


def test_who_has_as_many_ranks_as_the_program_itself_is_not_asked() -> None:
    judge = SameWork(4, None)
    _counted(judge, 4, 1000, baseline=True)
    assert _counted(judge, 4, 10) is None and _counted(judge, 8, 10)
