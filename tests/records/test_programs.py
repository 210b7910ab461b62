# SPDX-License-Identifier: BSD-3-Clause
"""Programs that are built anew while they are measured, or before an experiment goes on, are named with the answer."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from nodewise.records.columns import Record
from nodewise.records.experiment import Writer, read_experiment
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from tests.questions import compare_question

PROG = Setting(("./prog", "1"), name="prog")


def _build(folder: Path, text: str, at: float | None = None) -> None:
    """As linkers and `mv` do: another file takes the place of the one that is there."""
    new = folder / "prog.new"
    new.write_text(text)
    if at is not None:
        os.utime(new, (at, at))
    new.replace(folder / "prog")


def _question(folder: Path, **more: Any) -> dict[str, Any]:
    return compare_question("prog", cwd=str(folder), **more)


def _add(writer: Writer, first: int, last: int, setting: Setting = PROG) -> None:
    for n in range(first, last):
        writer.add(Record(setting.key, "compare", n, 0, Sample(1.0, 1.0, float(n))), setting)


def test_what_is_built_anew_meanwhile_is_named_with_the_runs_before_it(tmp_path: Path) -> None:
    _build(tmp_path, "one")
    with Writer(tmp_path / "e", _question(tmp_path)) as writer:
        _add(writer, 0, 3)
        _build(tmp_path, "two")
        _add(writer, 3, 7)
    back = read_experiment(tmp_path / "e")
    assert back.remarks == ["./prog was another file after 3 of 7 runs: what is said is of both together"]
    assert len(back.records) == 7 and back.damaged_lines == 0


def test_of_many_changes_three_are_written_down(tmp_path: Path) -> None:
    with Writer(tmp_path / "e", _question(tmp_path)) as writer:
        for n in range(9):
            _build(tmp_path, str(n), 1000.0 + n)
            _add(writer, n, n + 1)
    (said,) = read_experiment(tmp_path / "e").remarks
    assert said.startswith("./prog was another file after 1 of 9 runs, and 2 more times: ")


def test_what_is_built_anew_before_it_goes_on_is_named_and_what_was_there_is_not(tmp_path: Path) -> None:
    _build(tmp_path, "one")
    later = time.time() + 1000
    for name, ended in (("old", 0.0), ("new", later)):
        with Writer(tmp_path / name, _question(tmp_path)) as writer:
            for n in range(3):
                writer.add(Record(PROG.key, "compare", n, 0, Sample(1.0, 1.0, ended + n)), PROG)
        with Writer(tmp_path / name, None) as writer:
            writer.add(Record(PROG.key, "compare", 3, 0, Sample(1.0, 1.0, ended + 9)), PROG)
    # a file that changed after the last run, and one that did before it
    assert len(read_experiment(tmp_path / "old").remarks) == 1 and not read_experiment(tmp_path / "new").remarks


@pytest.mark.parametrize(
    ("command", "steps"),
    [
        # what a path does not name is the system's
        (("prog",), {}),
        (("./none",), {}),
        # who has it built before each run means that
        (("./prog",), {"prepare": "make"}),
    ],
)
def test_what_is_not_watched(tmp_path: Path, command: tuple[str, ...], steps: dict[str, str]) -> None:
    setting = Setting(command, name="prog")
    asked = [{"name": "prog", "text": "./prog", "shell": None, "steps": {"setup": None, **steps}}]
    with Writer(tmp_path / "e", _question(tmp_path, contenders=asked)) as writer:
        for n in range(3):
            _build(tmp_path, str(n), 1000.0 + n)
            _add(writer, n, n + 1, setting)
    assert read_experiment(tmp_path / "e").remarks == []
