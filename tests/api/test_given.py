# SPDX-License-Identifier: BSD-3-Clause
"""Plain values of a caller, and what is said of those that cannot be used."""

import inspect
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from nodewise.api.given import processors_of, seconds_of, share_of, values_of, words_of
from nodewise.api.options import HowToRun, choose_run, with_same_output
from nodewise.base.errors import InputError
from nodewise.runner.same_output import Kind


@pytest.mark.parametrize(
    ("given", "seconds"), [(2, 2.0), (0.5, 0.5), ("1.5min", 90.0), ("30", 30.0), (timedelta(minutes=2), 120.0)]
)
def test_a_duration(given: Any, seconds: float) -> None:
    assert seconds_of(given, "--budget") == seconds


@pytest.mark.parametrize("given", [0, -1.0, float("nan"), float("inf"), True, "soon", [], timedelta(0)])
def test_no_duration(given: Any) -> None:
    with pytest.raises(InputError, match="--budget"):
        seconds_of(given, "--budget")


def test_a_share() -> None:
    assert share_of(0.02, "--within") == share_of("2%", "--within") == 0.02
    assert share_of(0, "--fail-if-slower", None) == 0.0
    for bad in (0, 1, -0.1, "2", float("nan"), None):
        with pytest.raises(InputError, match="--within"):
            share_of(bad, "--within")  # type: ignore[arg-type]


def test_processors_by_number_or_as_text() -> None:
    assert processors_of([3, 0, 1]) == "0-1,3" and processors_of("0-3:2") == "0-3:2"


def test_words_of_a_command(tmp_path: Path) -> None:
    assert words_of("./solver 'in put.dat'") == ("./solver", "in put.dat")
    assert words_of(["./solver", tmp_path]) == ("./solver", str(tmp_path))
    for bad, said in (
        ("", "no program"),
        ([], "no program"),
        ("a | b", "shell"),
        (["a", 1], "text or paths"),
        ("'a", "quotes"),
    ):
        with pytest.raises(InputError) as caught:
            words_of(bad)  # type: ignore[arg-type]
        assert said in str(caught.value)


def test_values_of_parameters_and_variables() -> None:
    assert values_of({"n": [1, 2.5, "x"], "m": "1..8*2"}) == {"n": ("1", "2.5", "x"), "m": ("1", "2", "4", "8")}
    assert values_of({"A.B": "unset,1"}, in_command=False) == {"A.B": ("unset", "1")}
    for bad in ({"n": []}, {"1n": [1]}, {"n": "8..1"}):
        with pytest.raises(InputError):
            values_of(bad)


def test_how_to_run(tmp_path: Path) -> None:
    run = choose_run(
        timeout="2s",
        cwd=tmp_path,
        env={"OMP_NUM_THREADS": 4},
        metrics={"seconds": "took ([0-9.]+)"},
        work="items ([0-9]+)",
        limits={"AS": "2G", "NOFILE": 64},
        maximize="items/s",
        show=["peak_bytes", "flops:max"],
        cost="3.2EUR/h",
    )
    assert run.options.timeout_s == 2.0 and run.options.cwd == tmp_path and run.environment["OMP_NUM_THREADS"] == "4"
    assert set(run.options.metrics) == {"seconds", "work"} and run.options.limits == {"AS": 2 << 30, "NOFILE": 64}
    assert run.objective.maximise and run.shown.currency == "EUR"
    assert [(o.metric, o.maximise) for o in run.shown.metrics] == [
        ("cost", False),
        ("peak_bytes", False),
        ("flops", True),
    ]


@pytest.mark.parametrize(
    "given",
    [
        {"minimize": "a", "maximize": "b"},
        {"cwd": "/proc/gone"},
        {"stdin": "/"},
        {"env": {"A=B": 1}},
        {"env": {"A": None}},
        {"metrics": {"seconds": "("}},
        {"limits": {"AS": "much"}},
        {"cost_per_core": True},
        {"minimize": "cost"},
        {"wait_quiet": 0},
    ],
)
def test_what_cannot_be_run_so(given: Any) -> None:
    with pytest.raises(InputError):
        choose_run(**given)


def test_which_output_has_to_be_the_same(tmp_path: Path) -> None:
    def rule(*given: Any, usual: Kind = Kind.OFF) -> tuple[Kind, str]:
        same = with_same_output(choose_run(cwd=tmp_path), usual, *given).options.same
        return same.kind, same.what

    assert rule() == (Kind.OFF, "") and rule(usual=Kind.AUTO) == (Kind.AUTO, "")
    assert rule(False, usual=Kind.AUTO) == (Kind.OFF, "") and rule(True) == (Kind.OUTPUT, "")
    assert rule("sum: (.*)") == (Kind.PATTERN, "sum: (.*)")
    assert rule("x.dat") == (Kind.FILE, "x.dat") and rule(Path("a+b(1)")) == (Kind.FILE, "a+b(1)")
    (tmp_path / "a+b").write_text("")
    assert rule("a+b") == (Kind.FILE, "a+b")
    for bad in ((False, 0.1), (None, 0.1), (True, 1.0)):
        with pytest.raises(InputError):
            rule(*bad)


def test_the_keywords_are_those_that_are_read() -> None:
    assert set(HowToRun.__annotations__) == set(inspect.signature(choose_run).parameters)
