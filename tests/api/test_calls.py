# SPDX-License-Identifier: BSD-3-Clause
"""Functions compared: each run a fresh process, found by its import path or refused in one message."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import nodewise
from tests.api import callees


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent.parent))


def _compare(*calls: Any, **more: Any) -> nodewise.CompareVerdict:
    return nodewise.compare(*calls, **{"runs": 2, "accept_disturbed": True, "warmup": 0, **more})


def test_the_time_is_that_of_the_call(tmp_path: Path) -> None:
    verdict = _compare(callees.long, callees.short, partial(callees.long, factor=2), out=tmp_path / "x")
    assert [c.name for c in verdict.contenders] == ["long()", "short()", "long(factor=2)"]
    long, short, twice = (c.median or 0.0 for c in verdict.contenders)
    # no less than it slept, and without a Python's start
    assert short >= 0.002 and long >= 0.02 and twice >= 0.04 and short < long < twice


def test_each_run_is_a_process_of_its_own_and_may_print(tmp_path: Path) -> None:
    _compare(partial(callees.noting, tmp_path), callees.short, names=["noting", "short"])
    assert len(set((tmp_path / "seen").read_text().split())) == 2


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        (callees.exiting, "the function ends its process instead of returning: sys.exit(0)"),
        (partial(os._exit, 0), "its process ended before the function returned"),
    ],
)
def test_a_function_that_ends_its_process_well_has_no_time(ending: Any, said: str) -> None:
    with pytest.raises(nodewise.ProgramError) as caught:
        _compare(ending, callees.short)
    assert said in str(caught.value)


def test_a_function_that_closes_its_output_is_measured(tmp_path: Path) -> None:
    verdict = _compare(callees.closing, partial(callees.closing, 1))
    assert all(c.median is not None and c.median < 0.1 for c in verdict.contenders)


def test_what_else_reports_a_time_is_not_the_call(tmp_path: Path) -> None:
    verdict = _compare(partial(callees.reporting, 500.0), partial(callees.reporting, 1e-9))
    assert all(c.median is not None and 1e-6 < c.median < 5 for c in verdict.contenders)


def test_an_argument_that_shows_itself_badly_is_named_by_its_type() -> None:
    verdict = _compare(partial(callees.taking, callees.Shy()), callees.short)
    assert verdict.contenders[0].name == "taking(<Shy>)"


def test_a_function_that_fails_is_a_program_that_fails() -> None:
    with pytest.raises(nodewise.ProgramError, match="of its own"):
        _compare(callees.short, callees.failing)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: None, "it is a lambda"),
        (callees.made(), "inside another function"),
        (callees.Thing().method, "method of an object"),
        (partial(callees.short, threading.Lock()), "arguments of short"),
        (callees.waiting, "coroutine"),
        (callees.several, "coroutine or a generator"),
    ],
)
def test_what_a_fresh_process_cannot_call_is_refused(call: Callable[..., Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(nodewise.InputError) as caught:
        _compare(callees.short, call, out=tmp_path / "x")
    assert said in str(caught.value) and caught.value.hint
    assert not (tmp_path / "x").exists()


def test_a_function_that_another_one_hides_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = callees.short
    monkeypatch.setattr(callees, "short", callees.long)
    with pytest.raises(nodewise.InputError, match=r"callees\.short is something else"):
        _compare(hidden, callees.failing)


def test_functions_and_commands_are_not_mixed() -> None:
    with pytest.raises(nodewise.InputError, match="commands and functions"):
        _compare(callees.short, "true")
    with pytest.raises(nodewise.InputError, match=r"functools\.partial"):
        _compare(callees.short, callees.long, parameters={"n": [1]})
    with pytest.raises(nodewise.InputError, match="1 names for 2 functions"):
        _compare(callees.short, callees.long, names=["a"])
    with pytest.raises(nodewise.InputError, match="are named 'a'"):
        _compare(callees.short, callees.long, names=["a", "a"])


SCRIPT = """
import sys
import nodewise
def one(): sum(range(1000))
def two(): sum(range(2000))
{guard}    verdict = nodewise.compare(one, two, runs=2, warmup=0, accept_disturbed=True)
{guard}    sys.stdout.write(" ".join(row.name for row in verdict.contenders))
"""


def _script(tmp_path: Path, text: str, *words: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "script.py").write_text(text)
    command = [sys.executable, *(words or ("script.py",))]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100)


@pytest.mark.parametrize("words", [("script.py",), pytest.param(("-m", "script"), marks=pytest.mark.long)])
def test_functions_of_a_script(tmp_path: Path, words: tuple[str, ...]) -> None:
    text = SCRIPT.format(guard="").replace("\n    verdict", '\nif __name__ == "__main__":\n    verdict')
    done = _script(tmp_path, text, *words)
    assert done.stdout == "one() two()" and not done.stderr, done.stderr


def test_a_script_without_a_guard_does_not_start_itself_for_ever(tmp_path: Path) -> None:
    done = _script(tmp_path, SCRIPT.format(guard="").replace("\n    ", "\n"))
    assert done.returncode == 1 and "if __name__ == '__main__':" in done.stderr


def test_functions_of_an_interactive_session_are_refused(tmp_path: Path) -> None:
    text = "import nodewise\ndef f(): pass\ndef g(): pass\nnodewise.compare(f, g)"
    done = _script(tmp_path, "", "-c", text)
    assert done.returncode == 1 and "interactive session" in done.stderr
