# SPDX-License-Identifier: BSD-3-Clause
"""What a caller hears: its own errors as they are, and nodewise's in the words of its keywords, short enough to be read."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import nodewise


def _refused(ask: Callable[[], Any]) -> nodewise.NodewiseError:
    with pytest.raises(nodewise.NodewiseError) as caught:
        ask()
    return caught.value


def _raising(_: Any) -> None:
    raise nodewise.InputError("mine --runs", "see --out")


@pytest.mark.parametrize("heard", ["progress", "note"])
def test_an_error_of_the_callers_own_ends_a_suite_untouched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heard: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nodewise.toml").write_text("[command.a]\nrun = 'true'\nruns = 6\n")
    problem = _refused(lambda: nodewise.suite(out="o", **{heard: _raising}))
    assert (problem.what, problem.hint) == ("mine --runs", "see --out")


def test_an_error_of_the_callers_own_ends_a_comparison_untouched(tmp_path: Path) -> None:
    problem = _refused(lambda: nodewise.compare("true", "true", runs=7, out=tmp_path / "x", progress=_raising))
    assert (problem.what, problem.hint) == ("mine --runs", "see --out")


def test_how_to_go_on_is_said_in_python(tmp_path: Path) -> None:
    failing = f"test ! -e {tmp_path / 'n'}/9 && n=$(ls {tmp_path / 'n'} | wc -l) && touch {tmp_path / 'n'}/$n"
    (tmp_path / "n").mkdir()
    problem = _refused(
        lambda: nodewise.compare("true", "true", runs=40, out=tmp_path / "x", prepare=failing, accept_disturbed=True)
    )
    assert problem.hint is not None and f"out='{tmp_path / 'x'}', resume=True" in problem.hint, problem.hint


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: nodewise.tune("true", within="x"), "within: not a share: 'x'"),
        (lambda: nodewise.compare("true", "true", within="x"), "within: not a share: 'x'"),
        (lambda: nodewise.compare("true", "true", threshold=-1), "threshold: not a share: -1"),
        (lambda: nodewise.compare("true", "true", threshold=1e200), "threshold: not a share: 1e+200"),
        (lambda: nodewise.compare("true", "true", threshold="1e90%"), "threshold: not a share: '1e90%'"),
        (lambda: nodewise.where("true", seconds="nan"), "not a duration: seconds: 'nan'"),
        (lambda: nodewise.where("true", seconds=-5), "seconds: -5"),
        (lambda: nodewise.run("true", timeout=10**400), "timeout: a whole number of 1329 bits is beyond"),
        (lambda: nodewise.run("true", env={"a": 10**5000}), "env['a']: a whole number of 16610 bits is beyond"),
        (lambda: nodewise.place(ranks=10**5000), "ranks: a whole number of"),
        (lambda: nodewise.run("true", allow=[10**5000]), "allow[0]: a whole number of"),
        (lambda: nodewise.tune("true", seed=-1), "seed -1 is below zero"),
        (lambda: nodewise.machine(self=1), "nodewise.machine has no keyword 'self'"),  # type: ignore[misc]
        (lambda: nodewise.place("compact", ranks=numpy.timedelta64(1, "s")), "ranks: "),  # type: ignore[arg-type]
        (lambda: nodewise.compare("true", "true", seed=-1), "seed -1 is below zero"),
        (lambda: nodewise.scale("true", over="threads", counts=[1, 2], seed=-1), "seed -1 is below zero"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_the_name_of_its_keyword(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: Callable[[], Any], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in str(_refused(ask))
    assert list(tmp_path.iterdir()) == []


def test_messages_can_be_printed_and_read() -> None:
    for stray in ("\udcff", "a\x1b[2J\udc80"):
        text = str(_refused(lambda stray=stray: nodewise.run("true", cwd=stray)))
        assert text.encode() and "\x1b" not in text and "\\x" in text
    long = _refused(lambda: nodewise.tune("true", axes=["a" * 10**5]))
    assert len(long.what) < 2000 and " … " in long.what and len(str(long)) < 4000
