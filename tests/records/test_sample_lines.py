# SPDX-License-Identifier: BSD-3-Clause
"""Lines of the file of samples: what is damaged is counted, the first of it by its line, and the rest is read."""

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest

from nodewise.records.sample_lines import Neighbour, read_lines


def _read(path: Path, *lines: object) -> list[str]:
    path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in lines))
    return read_lines(path).remarks()


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 9])
def test_damaged_lines_are_counted_and_the_first_are_named(tmp_path: Path, count: int) -> None:
    neighbour = {"type": "neighbour", **asdict(Neighbour(1, "me", "run", "/a"))}
    (remark,) = _read(tmp_path / "samples", neighbour, *["{"] * count, neighbour)
    words = "1 damaged line was skipped" if count == 1 else f"{count} damaged lines were skipped"
    assert remark.startswith(f"samples.jsonl: {words}: line 2: ")
    named = [int(n) for n in re.findall(r"line (\d+): ", remark)]
    assert named == list(range(2, 2 + min(count, 5)))
    assert remark.endswith(f"; and {count - 5} more") == (count > 5)


def test_each_neighbour_and_plan_counts_once(tmp_path: Path) -> None:
    neighbour = {"type": "neighbour", **asdict(Neighbour(1, "me", "run", "/a"))}
    plan = {"type": "plan", "candidate": "s", "looks": [6, 12], "alpha": 0.05, "ablations": {}}
    _read(tmp_path / "samples", neighbour, neighbour, {**neighbour, "pid": 2})
    assert [n.pid for n in read_lines(tmp_path / "samples").neighbours] == [1, 2]
    for looks in ([], [6, 6], [12, 6]):
        (remark,) = _read(tmp_path / "samples", {**plan, "looks": looks})
        assert "line 1" in remark and "looks" in remark


def test_a_difference_of_a_sample_that_is_not_there_is_damage(tmp_path: Path) -> None:
    for at in (-1, 0):
        (remark,) = _read(tmp_path / "samples", {"type": "differs", "sample": at, "differs": "x"})
        assert f"there is no sample {at}" in remark


def test_no_file_is_no_line(tmp_path: Path) -> None:
    lines = read_lines(tmp_path / "none")
    assert lines.whole_bytes == 0 and lines.damaged == 0 and lines.remarks() == []


def _sample(number: int | None) -> dict[str, object]:
    place = {"setting": "a", "phase": "compare", "block": number or 0, "position": 0}
    told = {} if number is None else {"number": number}
    return {"type": "sample", **place, "seconds": 1.0, "wall_s": 1.0, "started_at": float(number or 0), **told}


@pytest.mark.parametrize(
    ("numbers", "missing"),
    [
        ([0, 1, 2], None),
        ([1, 2], "the line of 1 run is missing"),
        ([0, 3, 5], "the lines of 3 runs are missing"),
        # as an earlier version wrote them, and as this one goes on with such a file
        ([None], None),
        ([None, 1], None),
    ],
)
def test_runs_whose_lines_are_gone_are_counted(tmp_path: Path, numbers: list[int | None], missing: str | None) -> None:
    remarks = _read(tmp_path / "samples", *[_sample(n) for n in numbers])
    assert remarks == ([f"samples.jsonl: {missing}: what is said is without them"] if missing else [])
    assert read_lines(tmp_path / "samples").next_number == (numbers[-1] or 0) + 1


def test_a_damaged_line_is_no_missing_one_besides(tmp_path: Path) -> None:
    (remark,) = _read(tmp_path / "samples", _sample(0), "{", _sample(2))
    assert "1 damaged line was skipped" in remark
    assert len(_read(tmp_path / "samples", _sample(0), "{", _sample(3))) == 2


def test_with_a_line_gone_no_run_is_said_to_have_another_result(tmp_path: Path) -> None:
    late = {"type": "differs", "sample": 0, "differs": "x"}
    for numbers, seen in (([0, 1], "x"), ([1, 2], "")):
        _read(tmp_path / "samples", *[_sample(n) for n in numbers], late)
        assert read_lines(tmp_path / "samples").records[0].sample.differs == seen
