# SPDX-License-Identifier: BSD-3-Clause
"""Verdicts of stored experiments, worked out again from their samples."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.records.experiment import read_experiment
from nodewise.runner.setting import Setting
from nodewise.verdicts.baseline import against_baseline
from nodewise.verdicts.compare import compare_verdict, looks_of
from nodewise.verdicts.confirm import promise_of
from nodewise.verdicts.encoding import encode
from nodewise.verdicts.judge import judge_comparison, judge_confirm, judge_tune
from nodewise.verdicts.question import stopped_by
from nodewise.verdicts.tune import tune_verdict
from tests.verdicts.cases import Runs, compared, tuned
from tests.verdicts.test_confirm import PROMISE


def test_what_holds_no_good_run_cannot_be_judged(tmp_path: Path) -> None:
    made = compared(tmp_path / "x", {"a": Runs(1.0, change=lambda run: {"error": "exit code 3"})}, 6)
    with pytest.raises(InputError, match="holds no good run of the a") as caught:
        judge_comparison(made)
    assert caught.value.hint == "go on with --resume"


def test_a_baseline_is_as_it_was_judged_then_and_its_intervals_hold_with_the_others(tmp_path: Path) -> None:
    then = compared(tmp_path / "then", {"a": Runs(1.0), "b": Runs(0.5)}, 12)
    now = compared(tmp_path / "now", {"a": Runs(1.1), "b": Runs(0.5)}, 12)
    plain = judge_comparison(now)
    assert plain.baseline is None and plain.level == looks_of(1).level(plain.pairs[0].pairs)
    held = replace(compare_verdict(now, "decided", 2), baseline=against_baseline(now, then, any_machine=True))
    (tmp_path / "now/verdict.json").write_text(json.dumps(encode(held)))
    again = judge_comparison(read_experiment(tmp_path / "now"))
    assert again.baseline == held.baseline and len(again.baseline.pairs) == 2
    assert again.level == held.level == looks_of(3).level(again.pairs[0].pairs) > plain.level


def test_a_baseline_that_nobody_can_read_is_none(tmp_path: Path) -> None:
    compared(tmp_path / "x", {"a": Runs(1.0)}, 6)
    (tmp_path / "x/verdict.json").write_text(json.dumps({"baseline": {"pairs": 3}}))
    assert judge_comparison(read_experiment(tmp_path / "x")).baseline is None


def test_a_repetition_says_why_it_stopped(tmp_path: Path) -> None:
    made = compared(tmp_path / "x", {"a": Runs(1.0), "b": Runs(0.8)}, 20, kind="confirm", promise=PROMISE)
    assert judge_confirm(made).comparison.stopped == stopped_by(made) != ""


def test_a_tune_is_judged_from_its_runs_and_promises_its_gain(tmp_path: Path) -> None:
    base, one = Setting(("app",)), Setting(("app",), {"a": 1}, name="one")
    runs = {base.key: Runs(1.0), one.key: Runs(0.5)}
    made = tuned(
        tmp_path / "x", [(base, runs[base.key], [1, 2]), (one, runs[one.key], [1, 2])], runs, candidate=one.key
    )
    assert judge_tune(made) == tune_verdict(made, stopped_by(made))
    promised = promise_of(made)
    assert (promised.one, promised.other) == (base.key, one.key) and promised.low < 2 < promised.high
