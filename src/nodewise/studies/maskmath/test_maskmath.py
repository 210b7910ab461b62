# SPDX-License-Identifier: BSD-3-Clause
"""Accuracy in ulp on every instruction set, and floating-point exceptions of chosen and of masked-off elements."""

import json
import subprocess

import pytest

from nodewise.studies.commands import simd_targets, worker_command
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


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("simd", simd_targets(MASKMATH))
@pytest.mark.parametrize("arguments", ["usual", "edge"])
def test_the_accuracy_that_is_stated(function: str, simd: str, arguments: str) -> None:
    found = measure("native", simd, function=function, input=arguments, mask="all")
    assert 0.45 < found["ulp"] <= (0.5 if function == "sqrt" else 0.9)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("simd", simd_targets(MASKMATH))
@pytest.mark.parametrize("variant", ["blend", "native", "compress"])
@pytest.mark.parametrize("percent", ["0", "3", "60"])
def test_masked_off_elements_raise_nothing(function: str, simd: str, variant: str, percent: str) -> None:
    found = measure(variant, simd, function=function, percent=percent)
    assert [found[name] for name in RAISED] == [0, 0, 0, 0]


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
def test_chosen_elements_raise_what_is_due(function: str, due: set[str]) -> None:
    found = measure("native", function=function, input="edge", mask="all")
    raised = {name for name in RAISED if found[name]}
    assert (
        due <= raised <= due | {"underflow", "divided_by_zero"} - ({"divided_by_zero"} if function != "log" else set())
    )
