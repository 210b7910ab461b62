# SPDX-License-Identifier: BSD-3-Clause
"""A tune that starts from earlier ones: it is led by them, keeps them, and goes on from the same ones after a kill."""

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from nodewise.experiments.tune import Tuner
from nodewise.experiments.tune_question import Question
from nodewise.history.learned import learned_of
from nodewise.machine.model import Machine
from nodewise.records.budget import Budget
from nodewise.records.earlier import SAME_PROGRAM, Earlier
from nodewise.records.experiment import read_experiment
from nodewise.runner.loaded import Loaded
from nodewise.runner.setting import Setting
from nodewise.tuning.outline import Outline
from nodewise.tuning.prior import Recall, nothing_recalled
from nodewise.verdicts.stored import stored
from nodewise.verdicts.tune import TuneVerdict
from tests.surfaces import Scripted, machine, threads_of


def _question(out: Path, on: Machine, runs: int = 60, resume: bool = False) -> Question:
    return Question(
        ("x", "input"),
        on,
        ("threads", "placement"),
        out,
        Budget(None, runs),
        environment={},
        resume=resume,
        accept_disturbed=True,
    )


def _half_is_best(on: Machine, scale: float = 1.0):  # type: ignore[no-untyped-def]
    """Best with half the cores' threads, by 30% and more."""
    best = len(on.cores) // 2

    def seconds(setting: Setting) -> float:
        return scale * (1 + 0.2 * abs(threads_of(setting, len(on.allowed)) - best) / best)

    return seconds


def _learned(out: Path, verdict: TuneVerdict, here: bool) -> Earlier:
    learned = learned_of(stored(read_experiment(out), verdict))
    assert learned is not None
    began = "2026-11-01T00:00:00+00:00"
    facts = (learned.width, learned.defaults, learned.settings, learned.best, learned.ratio)
    return Earlier("x other", "n1", began, SAME_PROGRAM, here, *facts)


def _tune(out: Path, on: Machine, recall: Recall = nothing_recalled, runs: int = 60, seed: int = 1) -> TuneVerdict:
    return Tuner(_question(out, on, runs), Scripted(_half_is_best(on), seed), recall=recall).run()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Earlier:
    """A tune on a machine of 8 cores."""
    out = tmp_path_factory.mktemp("small") / "x"
    return _learned(out, _tune(out, machine(8, 1), runs=90), here=False)


def test_what_is_best_elsewhere_runs_in_the_first_block_here(small: Earlier, tmp_path: Path) -> None:
    assert small.best.startswith("threads=4")
    # each is as sure as its own runs and the baseline's make it, at one noise
    own, baseline = small.settings[1], small.settings[0]
    sure = (1 / own.runs + 1 / baseline.runs) / (2 / baseline.runs)
    assert own.runs != baseline.runs and (own.deviation / baseline.deviation) ** 2 == pytest.approx(sure)
    on = machine(40, 1)
    verdict = _tune(tmp_path / "x", on, lambda _: [small], runs=40)
    experiment = read_experiment(tmp_path / "x")
    first = [experiment.settings[r.setting].values.get("threads") for r in list(experiment.records)[1:7]]
    # the same share of the cores
    assert 20 in first
    assert verdict.verdict == "faster"
    assert verdict.best.values["threads"] in range(16, 25)
    (told,) = verdict.history
    assert (told.command, told.machine, told.here) == ("x other", "n1", False)
    assert told.settings == len(small.settings)
    assert "refuted" in experiment.question
    # the verdict rests on runs of its own
    assert verdict.comparison is not None
    assert verdict.comparison.blocks >= 6


def test_it_is_announced_and_a_preview_shows_it(small: Earlier, tmp_path: Path) -> None:
    told: list[Outline] = []
    on = machine(40, 1)
    question = _question(tmp_path / "x", on, 40)
    Tuner(question, Scripted(_half_is_best(on)), announce=told.append, recall=lambda _: [small]).run()
    preview = Tuner(_question(tmp_path / "y", on), Scripted(_half_is_best(on)), recall=lambda _: [small]).preview()
    assert [one.command for one in told[0].earlier] == [one.command for one in preview.earlier] == ["x other"]
    assert not (tmp_path / "y").exists()


def test_a_sweep_asks_for_nothing_earlier(tmp_path: Path) -> None:
    def never(loaded: Loaded | None) -> Sequence[Earlier]:
        raise AssertionError(loaded)

    on = machine(2, 1)
    question = _question(tmp_path / "x", on, 60)
    verdict = Tuner(
        Question(**{**question.__dict__, "sweep": True}), Scripted(_half_is_best(machine(4, 1))), recall=never
    ).run()
    assert verdict.history == ()


PROGRAM = """#!/bin/sh
printf '{"nodewise": 1, "seconds": 1.%04d}\\n' $(( (NODEWISE_RUN * 7919) % 101 + 100 * ${OMP_NUM_THREADS:-8} ))
"""


def _killed(work, after_s: float) -> None:  # type: ignore[no-untyped-def]
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        work()
        os._exit(0)
    time.sleep(after_s)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def test_after_a_kill_it_goes_on_from_the_same_earlier_tunes(small: Earlier, tmp_path: Path) -> None:
    from nodewise.runner.local import LocalLauncher

    program = tmp_path / "program"
    program.write_text(PROGRAM)
    program.chmod(0o755)

    def answer(out: Path, recall: Recall, resume: bool) -> TuneVerdict:
        question = _question(out, machine(4, 2), 50, resume)
        question = Question(**{**question.__dict__, "command": (str(program),), "environment": dict(os.environ)})
        with LocalLauncher() as launcher:
            return Tuner(question, launcher, recall=recall).run()

    def other(loaded: Loaded | None) -> Sequence[Earlier]:
        raise AssertionError("history is read once")

    whole = answer(tmp_path / "whole", lambda _: [small], False)
    cut = tmp_path / "cut"
    _killed(lambda: answer(cut, lambda _: [small], False), 0.0 + _time_for(cut, tmp_path))
    if (cut / "question.json").exists() and "earlier" in (cut / "question.json").read_text():
        again = answer(cut, other, True)
    else:
        again = answer(cut, lambda _: [small], (cut / "question.json").exists())
    assert again.verdict == whole.verdict
    assert again.best.launch_line == whole.best.launch_line
    assert again.runs == whole.runs
    assert again.history == whole.history
    assert [s.key for s in again.settings] == [s.key for s in whole.settings]


def _time_for(cut: Path, folder: Path) -> float:
    """Half of what the whole one took, by its own account."""
    del cut
    experiment = read_experiment(folder / "whole")
    begins = [r.sample.started_at for r in experiment.records]
    return max(0.05, (max(begins) - min(begins)) / 2)
