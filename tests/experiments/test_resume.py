# SPDX-License-Identifier: BSD-3-Clause
"""kill -9 at random moments, then going on: nothing lost, nothing twice, the verdict of an undisturbed run."""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nodewise.experiments.compare import CompareQuestion, compare
from nodewise.experiments.contenders import make_contenders
from nodewise.experiments.tune import tune
from nodewise.experiments.tune_question import Question
from nodewise.records.budget import Budget
from nodewise.records.experiment import read_experiment
from nodewise.runner.local import LocalLauncher
from nodewise.runner.setting import Setting
from nodewise.statistics.verdict import Word
from nodewise.tuning.wanted import Wanted
from tests.surfaces import Scripted, machine

#: What it prints depends on the number of the run in its experiment alone, and a little on the threads.
PROGRAM = """#!/bin/sh
printf '{"nodewise": 1, "seconds": 1.%04d}\\n' $(( (NODEWISE_RUN * 7919) % 101 + 100 * ${OMP_NUM_THREADS:-8} ))
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "program"
    path.write_text(PROGRAM)
    path.chmod(0o755)
    return str(path)


def _tune(program: str, out: Path, resume: bool) -> dict[str, Any]:
    question = Question(
        (program,), machine(4, 2), ("threads", "placement"), out, Budget(None, 90), environment=dict(os.environ),
        resume=resume, accept_disturbed=True
    )  # fmt: skip
    with LocalLauncher() as launcher:
        return tune(question, launcher)


def _sweep(program: str, out: Path, resume: bool) -> dict[str, Any]:
    question = Question(
        (program,), machine(2, 2), ("threads", "placement"), out, Budget(None, 150), environment=dict(os.environ),
        resume=resume, accept_disturbed=True, sweep=True
    )  # fmt: skip
    with LocalLauncher() as launcher:
        return tune(question, launcher)


def _compare(program: str, out: Path, resume: bool) -> dict[str, Any]:
    made = make_contenders([f"{program} 1", f"{program} 2"], {})
    question = CompareQuestion(
        tuple(made), machine(4, 2, live=True), out, Budget(None, 122), fewest=60, resume=resume, accept_disturbed=True
    )
    with LocalLauncher() as launcher:
        return compare(question, launcher)


def _child(work: Callable[[], object]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            os.setpgid(0, 0)
            work()
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
    return pid


def _ended(pid: int) -> int | None:
    found, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def _plain(verdict: dict[str, Any] | None) -> dict[str, Any]:
    assert verdict is not None
    without = {"experiment", "seconds_spent"}
    cleaned = {k: v for k, v in verdict.items() if k not in without}
    # times of the clock, and what the system counted, are of each run and not of the stream
    own = {"medians", "disturbed", "metrics", "work", "against_reference", "sentence", "rests_on"}

    def without_own(row: Any) -> Any:
        return {k: v for k, v in row.items() if k not in own} if isinstance(row, dict) else row

    rows = {name: list(map(without_own, cleaned.get(name, []))) for name in ("contenders", "settings", "pairs")}
    comparison = {"comparison": without_own(cleaned.get("comparison"))}
    return {**without_own(cleaned), **rows, **comparison, "warnings": [], "notes": [], "pareto": {}}


@pytest.mark.parametrize("way", [_tune, pytest.param(_sweep, marks=pytest.mark.long), _compare])
@pytest.mark.parametrize("kills_wanted", [6, pytest.param(50, marks=pytest.mark.long)])
def test_killed_at_any_moment_it_goes_on_to_the_same_verdict(
    way: Callable[[str, Path, bool], dict[str, Any]], kills_wanted: int, program: str, tmp_path: Path
) -> None:
    whole = tmp_path / "whole"
    begin = time.monotonic()
    way(program, whole, False)
    lasted = time.monotonic() - begin
    undisturbed = read_experiment(whole)
    dice = random.Random(4)
    kills, experiments = 0, 0
    while kills < kills_wanted:
        experiments += 1
        out = tmp_path / f"cut-{experiments}"
        known = 0
        while True:
            resume = (out / "question.json").exists()
            pid = _child(lambda out=out, resume=resume: way(program, out, resume))  # type: ignore[misc]
            time.sleep(dice.uniform(0, 0.7 * lasted))
            code = _ended(pid)
            if code is None and kills < kills_wanted:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                kills += 1
                if (out / "question.json").exists():
                    now = len(read_experiment(out).records)
                    assert now >= known
                    known = now
                continue
            assert (code if code is not None else os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])) == 0
            break
        got = read_experiment(out)
        places = Counter((r.phase, r.block, r.position) for r in got.records)
        assert max(places.values()) == 1
        one, other = (
            [(r.setting, r.phase, r.block, r.position, r.sample.seconds) for r in e.records] for e in (undisturbed, got)
        )
        assert one == other
        assert _plain(got.verdict) == _plain(undisturbed.verdict)


def test_a_larger_budget_decides_what_was_left_open(tmp_path: Path) -> None:
    """And what was decided under each budget is replayed under that one, however often it is extended."""

    def asked(runs: int, resume: bool) -> Question:
        return Question(
            ("./app",), machine(1, 1), ("MODE",), tmp_path / "x", Budget(None, runs), environment={}, resume=resume,
            wanted=Wanted(variables={"MODE": ("a",)}),
        )  # fmt: skip

    def seconds(setting: Setting) -> float:
        return 0.97 if "MODE" in setting.env else 1.0

    first = tune(asked(30, False), Scripted(seconds, 3, 0.03))
    assert (first.verdict, first.best.key) == (Word.UNDECIDED, "baseline")
    assert first.runs <= 30 and first.more_runs is not None
    taken = (tmp_path / "x/samples.jsonl").read_text()
    for runs in (60, 400):
        launcher = Scripted(seconds, runs, 0.03)
        last = tune(asked(runs, True), launcher)
        now = (tmp_path / "x/samples.jsonl").read_text()
        assert now.startswith(taken) and launcher.runs == len(read_experiment(tmp_path / "x").records) - _runs(taken)
        taken = now
    assert (last.verdict, last.best.env) == (Word.FASTER, {"MODE": "a"})
    # without a budget of its own it has the last one, and there is nothing left to do
    assert tune(asked(30, True), Scripted(seconds)).runs == last.runs


@pytest.mark.long
def test_whether_time_ends_the_budget_is_asked_of_the_one_that_held_then(tmp_path: Path) -> None:
    def asked(number: int, budget: Budget, resume: bool) -> Question:
        return Question(
            ("./app",), machine(1, 1), ("MODE",), tmp_path / str(number), budget, environment={}, resume=resume,
            wanted=Wanted(variables={"MODE": ("a", "b")}),
        )  # fmt: skip

    def seconds(setting: Setting) -> float:
        # a run of the baseline takes longer than the others, which counts where time ends the budget
        time.sleep(0 if "MODE" in setting.env else 0.004)
        return 0.7 if "MODE" in setting.env else 1.0

    timed, counted = Budget(1e9, 40), Budget(None, 40)
    for number, (first, then) in enumerate([(timed, counted), (counted, timed)] * 4):
        before = tune(asked(number, first, False), Scripted(seconds, number, 0.03))
        again = tune(asked(number, then, True), Scripted(seconds))
        assert (again.verdict, again.best.key, again.runs) == (before.verdict, before.best.key, before.runs)


def _runs(samples: str) -> int:
    return sum('"type": "sample"' in line for line in samples.splitlines())
