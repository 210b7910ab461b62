# SPDX-License-Identifier: BSD-3-Clause
"""What was asked from Python is asked again by a command line: the same question, and an experiment that goes on from either side."""

import dataclasses
import json
import os
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import nodewise
from nodewise.api import compare as compare_module
from nodewise.api import confirm, run, scale, study, tune
from nodewise.api.recorded import text_of
from nodewise.cli.main import main
from tests.api import callees
from tests.started import started

ENDLESS = 10_000 * 86400.0
KINDS: dict[str, Any] = {
    "tune": tune.Tuning,
    "compare": compare_module.Comparison,
    "run": run.Single,
    "scale": scale.Scaling,
    "study": study.Study,
    "confirm": confirm.Confirmation,
}


class _ReachedError(Exception):
    pass


def _question(kind: str, monkeypatch: pytest.MonkeyPatch, ask: Any) -> Any:
    """The question that is ready once it is asked; nothing runs."""
    found = []

    def answer(ready: Any, *_: object, **__: object) -> None:
        found.append(ready)
        raise _ReachedError

    with monkeypatch.context() as patched:
        patched.setattr(KINDS[kind], "answer", answer)
        with pytest.raises(_ReachedError):
            ask()
    return found[0]


def _asked_again(kind: str, line: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> Any:
    def ask() -> None:
        monkeypatch.setattr(sys, "argv", list(line))
        # what nothing of nodewise's own catches goes through
        main(list(line[1:]))

    monkeypatch.setattr("nodewise.cli.main._defect", _raise)
    return _question(kind, monkeypatch, ask)


def _raise(problem: Exception, words: list[str]) -> int:
    raise problem


def _plain(ready: Any) -> dict[str, Any]:
    question = ready.question
    if hasattr(ready, "run"):
        made = dict(question.to_json())
        # what has no bound in time is asked for as longer than anything
        made["budget"] = [v for v in made["budget"].values() if v not in (None, ENDLESS)]
        left = {"started_at", "asked", "id"}
        options = ready.run.options
        # regular expressions that find the same: below
        options = dataclasses.replace(options, metrics=dict.fromkeys(options.metrics), expect=None)
        more = {"options": repr(options), "env": ready.run.env, "wait": (ready.run.wait, ready.run.wait_quiet_s)}
        more["settings"] = [c.setting for c in getattr(question, "contenders", ())]
        more["limits"] = (getattr(question, "firm", None), getattr(question, "fewest", None))
        return {
            **{n: v for n, v in made.items() if n not in left},
            **more,
            "axes asked": getattr(question, "axes", None),
        }
    return {n: v for n, v in vars(question).items() if n not in ("out", "asked", "found")} | {
        "quiet": ready.wait_quiet_s
    }


HOW: dict[str, Any] = {
    "timeout": timedelta(seconds=1.5),
    "env": {"A": 1, "B": "x=y z"},
    "metrics": {"seconds": re.compile(r"took ([\d.]+)", re.IGNORECASE), "x": r"^x (\d+)$"},
    "expect": re.compile("^-fine", re.DOTALL),
    "limits": {"AS": "2G", "NOFILE": 64},
    "work": "items: ([0-9]+)",
    "accept_codes": (3, 1),
    "maximize": "x",
    "show": ["peak_bytes", "flops:max"],
    "cost": "3.2EUR/h",
    "cost_per_core": True,
    "accept_disturbed": True,
    "wait_quiet": 0.25,
    "wait": True,
}


@pytest.mark.parametrize(
    ("kind", "words", "given"),
    [
        ("tune", ("true",), {}),
        ("tune", (["./a b", "--x", "{n}", "--", "-r"],), {"parameters": {"n": ["a,b", 2]}, "axes": [], "budget": None, "max_runs": 20}),
        (
            "tune",
            ("true {m}",),
            {
                **HOW,
                **{"axes": ["threads", "X"], "env_axes": {"X": ["1", "unset"]}, "parameters": {"m": "1..8*2"}},
                **{"constraints": ["threads <= 2"], "build": "cc -o {out}", "allow": [0], "within": 0.07, "seed": 3},
                **{"same_output": True, "tolerance": 1e-6, "machine": "synthetic:core:2 pu:1", "budget": "2min"},
            },
        ),
        ("tune", ("true",), {"same_output": Path("out.dat")}),
        ("tune", ("true",), {"same_output": False, "within": "0.3%"}),
        ("run", ("sh -c 'exit 3'",), {}),
        ("run", (["sh", "-c", "exit 3"],), {**HOW, "runs": 3, "warmup": 0, "allow": [0], "budget": timedelta(hours=1)}),
        ("scale", ("true",), {"machine": "synthetic:core:16 pu:1"}),
        (
            "scale",
            (["true", "{threads}"],),
            {
                **{k: v for k, v in HOW.items() if k != "maximize"},
                **{"over": "threads", "counts": [1, 2, 4, 6, 8], "weak": True, "to": [32], "by": "2099-01-01T08:00"},
                **{"times": 1.5, "blocks": 7, "budget": 60, "machine": "synthetic:core:16 pu:1", "allow": "0-7", "seed": 3},
            },
        ),
        ("compare", ("a | b", "c"), {}),
        ("compare", (["a", "-x y"], ["-b"]), {"names": ["one", "two"], "prepare": "sync; true", "min_runs": 3, "budget": 10}),
        (
            "compare",
            ("a {n}", "--b {n} $X"),
            {
                **HOW,
                **{"parameters": {"n": [1, 2]}, "prepare": ["x {n}"], "conclude": ["y", "z"], "setup": "-s", "cleanup": "c"},
                **{"runs": 12, "warmup": 2, "threshold": 0.125, "seed": 9, "same_output": "sum: (.*)"},
            },
        ),
        ("compare", ("a", "b"), {"ignore_failure": True, "max_runs": 9, "shell": "bash --norc"}),
        ("study", ("is",), {}),
        (
            "study",
            ("is",),
            {"knobs": {"class": "S"}, "threads": 1, "only": ["bucketed"], "blocks": 3, "budget": 9.5, "wait_quiet": "1min", "quick": True},
        ),
    ],
)  # fmt: skip
def test_the_line_asks_the_same(
    kind: str, words: tuple[Any, ...], given: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    from_python = _question(kind, monkeypatch, lambda: getattr(nodewise, kind)(*words, **given))
    line = from_python.question.asked
    assert line[:2] == ("nodewise", kind)
    again = _asked_again(kind, line, monkeypatch)
    assert _plain(again) == _plain(from_python)


@pytest.mark.parametrize(
    "flags", [0, re.MULTILINE, re.IGNORECASE, re.VERBOSE, re.DOTALL | re.ASCII, re.MULTILINE | re.IGNORECASE]
)
@pytest.mark.parametrize("pattern", [r"^a (\w+)$", "(?i)b.c", "x # comment", "(?s:.)é\\w"])
def test_a_compiled_expression_finds_the_same_as_its_text(pattern: str, flags: int) -> None:
    compiled = re.compile(pattern, flags)
    again = re.compile(text_of(compiled), re.MULTILINE)
    for text in ("a bé\nA b", "a bc", "B\nC b\nc", "x # comment", "x", "éé", "\né1\na x\n"):
        assert [m.span() for m in again.finditer(text)] == [m.span() for m in compiled.finditer(text)], text


def test_what_no_line_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = nodewise.machine("synthetic:core:2 pu:1")
    for words in (
        {"machine": there},
        {"parameters": {"n": ["1..4"]}},
        {"same_output": Path("a(b)")},
        {"metrics": {"a=b": "x"}},
    ):
        ready = _question("tune", monkeypatch, lambda words=words: nodewise.tune("true {n}", **words))
        assert ready.question.asked == ()


def _nodewise(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return started(*words, cwd=folder, timeout=100)


def _cut_off(ask: Any) -> None:
    def stop(progress: nodewise.Progress) -> None:
        if progress.runs >= 4:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        ask(progress=stop)


def test_the_command_line_goes_on_with_what_python_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    how: dict[str, Any] = {"accept_disturbed": True, "env": {"MY_TOKEN": "abc-secret-xyz"}, "runs": 6}
    _cut_off(lambda **more: nodewise.compare("sleep 0.01", "sleep 0.02; true", out="x", **how, **more))
    before = (tmp_path / "x/samples.jsonl").read_text()
    stored = (tmp_path / "x/question.json").read_text()
    assert "abc-secret-xyz" not in stored and '"nodewise"' in stored
    (tmp_path / "elsewhere").mkdir()
    done = _nodewise("compare", "--resume", "../x", "--json", folder=tmp_path / "elsewhere")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["blocks"] >= 6 and (tmp_path / "x/samples.jsonl").read_text().startswith(before)
    assert "abc-secret-xyz" not in done.stdout


def test_python_goes_on_with_what_the_command_line_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert (
        _nodewise("run", "-r", "3", "--accept-disturbed", "--out", "x", "--", "true", folder=tmp_path).returncode == 0
    )
    before = (tmp_path / "x/samples.jsonl").read_text()
    summary = nodewise.run("true", runs=5, out="x", resume=True, accept_disturbed=True)
    assert summary.runs == 5 and (tmp_path / "x/samples.jsonl").read_text().startswith(before)


def test_functions_go_on_from_python_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent.parent))
    words: dict[str, Any] = {"out": tmp_path / "x", "runs": 3, "accept_disturbed": True}
    _cut_off(lambda **more: nodewise.compare(callees.short, callees.long, **words, **more))
    done = _nodewise("compare", "--resume", str(tmp_path / "x"), folder=tmp_path)
    assert done.returncode == 2 and "compares functions of Python" in done.stderr
    assert f"nodewise.compare(…, out={str(tmp_path / 'x')!r}, resume=True)" in done.stderr
    assert nodewise.compare(callees.short, callees.long, resume=True, **words).blocks >= 3


def test_how_it_was_run_is_repeated_by_confirm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    how: dict[str, Any] = {"expect": "fine", "metrics": {"seconds": "took ([0-9.]+)"}, "env": {"X": "fine"}}
    lines = [f"echo $X took 0.0{n}$(($(date +%N | cut -c5-6 | sed s/^0//) % 9))" for n in (5, 2)]
    then = nodewise.compare(*lines, runs=8, accept_disturbed=True, ignore_failure=True, **how)
    ready = _question("confirm", monkeypatch, lambda: nodewise.confirm(then.experiment))
    assert ready.run.options.expect.pattern == "fine" and set(ready.run.options.metrics) == {"seconds"}
    assert ready.run.env == {"X": "fine"} and ready.run.options.accepted is None and ready.run.accept_disturbed
    over = {
        "env": {"Y": "1"},
        "expect": "other",
        "minimize": "peak_bytes",
        "accept_disturbed": False,
        "accept_codes": [7],
    }
    ready = _question("confirm", monkeypatch, lambda: nodewise.confirm(then.experiment, **over))  # type: ignore[arg-type]
    assert ready.run.env == {"X": "fine", "Y": "1"} and ready.run.options.expect.pattern == "other"
    assert ready.run.objective.metric == "peak_bytes" and not ready.run.accept_disturbed
    assert ready.run.options.accepted == {7}
    line = ready.question.asked
    assert _plain(_asked_again("confirm", line, monkeypatch))["how"]["env"] == {"X": "fine", "Y": "1"}
    os.chdir("/")
    assert nodewise.confirm(then.experiment, max_runs=8).promise.experiment == then.experiment
