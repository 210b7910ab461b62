# SPDX-License-Identifier: BSD-3-Clause
"""What an experiment that runs shows, from its stored runs: phase, budget, looks and leaders."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nodewise.records.experiment import Experiment, read_experiment
from nodewise.runner.setting import Setting
from nodewise.verdicts.live import live_of, read_live
from tests.verdicts.cases import BUSY, Runs, compared, hold, tuned

BASELINE = Setting(("app",))
OTHERS = [Setting(("app",), {"a": n}, name=f"a {n}") for n in range(1, 11)]
ONE = OTHERS[0]
#: Ten others, the later the slower, of which the third ran once, the fourth fails, and the last two are beyond those that are listed.
SEARCH = [
    (BASELINE, Runs(1.0), range(1, 5)),
    *(
        (
            one,
            Runs(0.5 + 0.04 * n, change=lambda run, n=n: {"error": "exit code 3"} if n == 3 else {}),
            [1] if n == 2 else range(1, 5),
        )
        for n, one in enumerate(OTHERS)
    ),
]
BUDGET = {"seconds": 100.0, "runs": 500}
BEGUN = {"budget": BUDGET, "started_at": "2026-11-05T08:00:00+00:00"}


def _confirmed(path: Path, blocks: int = 20, **more: object) -> Experiment:
    pair = {BASELINE.key: Runs(1.0), ONE.key: Runs(0.8, change=lambda run: {"marks": (BUSY,)} if run in (2, 9) else {})}
    return tuned(path, SEARCH, pair, blocks, candidate=ONE.key, **more)  # type: ignore[arg-type]


CASES: dict[str, Callable[[Path], Experiment]] = {
    "searching": lambda path: tuned(path, SEARCH, **BEGUN),
    "confirming": lambda path: _confirmed(path, **BEGUN),
    "early": lambda path: _confirmed(path, 3, **BEGUN),
    "accepted": lambda path: _confirmed(path, **BEGUN, accept_disturbed=True),
    "extended": lambda path: _confirmed(
        path,
        **BEGUN,
        extended=[{"budget": {"seconds": seconds, "runs": None}, "runs": 41} for seconds in (7.0, 900.0)],
    ),
    "rates": lambda path: tuned(
        path,
        [
            (s, Runs(1.0, change=lambda run, r=r: {"metrics": {"rate": (1 + 0.001 * run) / r.seconds}}), b)
            for s, r, b in SEARCH[:4]
        ],
        objective={"metric": "rate", "maximise": True},
        **BEGUN,
    ),
    "comparison": lambda path: compared(path, {"a": Runs(1.0), "b": Runs(0.5)}, 4, **BEGUN),
    "baseline that fails": lambda path: tuned(
        path, [(BASELINE, Runs(1.0, change=lambda run: {"error": "exit code 3"}), range(1, 5)), *SEARCH[1:3]], **BEGUN
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_all_that_is_shown(name: str, tmp_path: Path) -> None:
    hold(f"live {name}", live_of(CASES[name](tmp_path / "x"), 1000.0), tmp_path / "x")


def test_nothing_ran_yet(tmp_path: Path) -> None:
    experiment = tuned(tmp_path / "x", SEARCH[:1], budget=BUDGET)
    (tmp_path / "x" / "samples.jsonl").write_text("")
    live = live_of(read_experiment(tmp_path / "x"), 0.0)
    assert (live.phase, live.runs, live.failed, live.leaders, live.left_seconds) == ("first run", 0, 0, (), 100.0)
    assert live_of(experiment, 0.0).phase == "search"


def test_what_is_left_shrinks_while_nothing_is_written(tmp_path: Path) -> None:
    live = live_of(tuned(tmp_path / "x", SEARCH[:1], budget=BUDGET), 1000.0)
    assert live.left_seconds == pytest.approx(100 - live.seconds) and 0 < live.seconds < 100
    assert live.as_of(1010.0).left_seconds == pytest.approx(90 - live.seconds)
    # a clock that was set back adds nothing, and less than nothing is never left
    assert live.as_of(900.0).left_seconds == live.left_seconds
    assert live.as_of(5000.0).left_seconds == 0
    assert replace(live, ended=True).as_of(1010.0).left_seconds == 0
    without = replace(live, budget_seconds=None, left_seconds=None)
    assert without.as_of(1010.0) == without


def test_it_was_written_when_its_files_were(tmp_path: Path) -> None:
    tuned(tmp_path / "x", SEARCH[:1], budget=BUDGET)
    os.utime(tmp_path / "x" / "question.json", (5000, 5000))
    os.utime(tmp_path / "x" / "samples.jsonl", (7000, 7000))
    assert read_live(tmp_path / "x").written_at == 7000
    os.utime(tmp_path / "x" / "question.json", (9000, 9000))
    assert read_live(tmp_path / "x").written_at == 9000


def test_of_budgets_that_were_given_again_the_last_one_holds(tmp_path: Path) -> None:
    again = [
        {"budget": {"seconds": seconds, "runs": 10 * n}, "runs": 41} for n, seconds in enumerate((7.0, 90.0, 50.0))
    ]
    live = live_of(_confirmed(tmp_path / "x", **BEGUN, extended=again), 1000.0)
    assert (live.budget_seconds, live.budget_runs) == (50.0, 20)


def test_before_the_first_run_it_was_written_when_its_question_was(tmp_path: Path) -> None:
    tuned(tmp_path / "x", SEARCH[:1], budget=BUDGET)
    (tmp_path / "x" / "samples.jsonl").unlink()
    os.utime(tmp_path / "x" / "question.json", (5000, 5000))
    assert read_live(tmp_path / "x").written_at == 5000
