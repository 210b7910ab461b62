# SPDX-License-Identifier: BSD-3-Clause
"""Accuracy in ulp on every instruction set, and floating-point exceptions of chosen and of masked-off elements."""

import itertools
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nodewise.studies.commands import simd_targets, work_of, worker_command
from nodewise.studies.discovery import find_study

MASKMATH = find_study("maskmath")
FUNCTIONS = ("exp", "log", "sin", "cos", "sqrt", "acosh")
RAISED = ("invalid", "divided_by_zero", "overflow", "underflow")


def measure(variant: str, simd: str | None = None, **knobs: str) -> dict[str, float]:
    point = {"n": "65536", "repeat": "1", **knobs}
    command = [*worker_command(MASKMATH, variant, point), "--threads", "2"]
    if simd is not None:
        command += ["--simd", simd]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[0]))


def halved(*axes: Sequence[Any]) -> list[Any]:
    """All combinations, half of which are for the long tests: what is left has each of any axes but one together."""
    marks = ((), pytest.mark.long)
    return [
        pytest.param(*(value for _, value in at), marks=marks[sum(place for place, _ in at) % 2])
        for at in itertools.product(*map(enumerate, axes))
    ]


TARGETS = simd_targets(MASKMATH)


@pytest.mark.some(30)
@pytest.mark.parametrize(
    ("function", "simd", "arguments", "way"),
    halved(FUNCTIONS, TARGETS, ["usual", "edge"], [("native", "100"), ("best", "5"), ("best", "30")]),
)
def test_the_accuracy_that_is_stated(function: str, simd: str, arguments: str, way: tuple[str, str]) -> None:
    variant, percent = way
    found = measure(variant, simd, function=function, input=arguments, percent=percent)
    assert 0.45 < found["ulp"] <= (0.51 if function == "sqrt" else 0.9)


@pytest.mark.parametrize("function", ["log", "sin", "cos", "acosh"])
@pytest.mark.parametrize("arguments", ["usual", "edge"])
def test_the_accuracy_of_what_is_quicker(function: str, arguments: str) -> None:
    found = measure("native", function=function, input=arguments, percent="100", accuracy="4")
    assert 0.45 < found["ulp"] <= {"log": 0.9, "acosh": 1.5}.get(function, 4)


def test_peers_of_less_accuracy_are_left_out_where_that_is_asked_for() -> None:
    assert MASKMATH.study.select is not None
    one, four = (set(MASKMATH.study.select({"function": "sin", "accuracy": a})) for a in ("1", "4"))
    assert four - one == {"svml", "sleef-u35", "libmvec"} and one <= four


def test_the_square_root_is_the_quicker_one_and_the_answer_says_so() -> None:
    found = measure("native", function="sqrt")
    own, steps = found["sqrt_own_ns"], found["sqrt_by_steps_ns"]
    assert own > 0 and steps > 0 and "sqrt_own_ns" not in measure("native", function="log")
    assert MASKMATH.study.report is not None
    (line,) = MASKMATH.study.report({"rows": [{"metrics": {}}, {"metrics": found}]})
    assert ("steps from an estimate" in line) == (steps < own)


def test_where_best_changes_its_way_is_found_by_trials_and_the_answer_says_so() -> None:
    found = measure("best", function="acosh")
    one, together = found["most_one_by_one_percent"], found["most_together_percent"]
    assert 0 <= one <= 100 and 0 <= together <= 100
    assert "most_together_percent" not in measure("native", function="acosh")
    assert MASKMATH.study.report is not None
    (line,) = MASKMATH.study.report({"rows": [{"metrics": {}}, {"metrics": found}]})
    assert line.startswith("best: ") and f"up to {max(together, min(one, together)):.0f}%" in line
    for some, all_, said in (
        (20.0, 60.0, "one by one where up to 20% are chosen, together up to 60%, above that all are computed"),
        (60.0, 60.0, "one by one where up to 60% are chosen, above that all are computed"),
        (70.0, 60.0, "one by one where up to 60% are chosen, above that all are computed"),
        (0.0, 60.0, "together where up to 60% are chosen, above that all are computed"),
        (0.0, 0.0, "all are computed"),
    ):
        metrics = {"most_one_by_one_percent": some, "most_together_percent": all_}
        (line,) = MASKMATH.study.report({"rows": [{"metrics": metrics}]})
        assert line == f"best: {said}: where the times of trials crossed here"


@pytest.mark.some(32)
@pytest.mark.parametrize(
    ("function", "simd", "variant", "percent"),
    halved(FUNCTIONS, TARGETS, ["blend", "native", "compress", "best"], ["3", "90"]),
)
def test_masked_off_elements_raise_nothing(function: str, simd: str, variant: str, percent: str) -> None:
    found = measure(variant, simd, function=function, percent=percent)
    assert [found[name] for name in RAISED] == [0, 0, 0, 0]


# numbers of elements that are no whole batch, and more than the caches hold, which are stored otherwise
@pytest.mark.some(12)
@pytest.mark.parametrize(
    ("simd", "variant", "n", "percent"),
    halved(TARGETS, ["compress", "best"], ["65", "511", "1577", "3000001"], ["3", "30"]),
)
def test_batches_that_are_not_whole_or_past_the_caches(simd: str, variant: str, n: str, percent: str) -> None:
    found = measure(variant, simd, function="acosh", n=n, percent=percent)
    assert found["ulp"] <= 0.9


@pytest.mark.parametrize("variant", ["branch", "blend", "native", "compress", "best"])
@pytest.mark.parametrize("percent", ["0", "3", "60"])
def test_what_is_left_out_is_kept_or_becomes_zero(variant: str, percent: str, tmp_path: Path) -> None:
    for others in ("keep", "zero"):
        point = MASKMATH.study.point(
            {"function": "exp", "n": "2501", "repeat": "1", "percent": percent, "others": others}
        )
        command = [*worker_command(MASKMATH, variant, point), "--threads", "2", "--dump", str(tmp_path)]
        subprocess.run(command, capture_output=True, check=True)
        x, kept, mask, y = (np.load(tmp_path / f"{name}.npy") for name in ("x", "kept", "mask", "y"))
        wanted = np.where(mask, np.exp(np.where(mask, x, 0.0)), kept if others == "keep" else 0.0)
        np.testing.assert_allclose(y, wanted, rtol=1e-14)
        assert not np.signbit(y[mask == 0]).any() or others == "keep"


def test_nothing_is_read_for_elements_that_become_zero() -> None:
    assert work_of(MASKMATH, MASKMATH.study.point({"mask": "none", "others": "zero", "n": "1000"}))["bytes"] == 9000
    assert work_of(MASKMATH, MASKMATH.study.point({"mask": "none", "n": "1000"}))["bytes"] == 17000


# the operations of exp, of half of the elements and of all
@pytest.mark.parametrize(("mask", "chosen"), [("random", 500.0), ("all", 1000.0)])
def test_operations_are_those_of_the_chosen_elements(mask: str, chosen: float) -> None:
    point = {"function": "exp", "n": "1000", "repeat": "3", "mask": mask}
    assert work_of(MASKMATH, MASKMATH.study.point(point))["flops"] == pytest.approx(21 * chosen * 3)


@pytest.mark.some(10)
@pytest.mark.parametrize(
    ("function", "due"),
    [
        ("exp", {"overflow"}),
        ("log", {"invalid"}),
        ("sin", {"invalid"}),
        ("cos", {"invalid"}),
        ("sqrt", {"invalid"}),
        ("acosh", {"invalid"}),
    ],
)
@pytest.mark.parametrize("simd", simd_targets(MASKMATH))
def test_chosen_elements_raise_what_is_due(function: str, due: set[str], simd: str) -> None:
    found = measure("native", simd, function=function, input="edge", mask="all")
    raised = {name for name in RAISED if found[name]}
    assert due <= raised <= due | {"underflow"} | ({"divided_by_zero"} if function == "log" else set())
