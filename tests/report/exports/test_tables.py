# SPDX-License-Identifier: BSD-3-Clause
"""What a study computed, as files that are read back by others."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from nodewise.base.errors import InputError, StoreError
from nodewise.report.exports.tables import check_target, write_result
from nodewise.studies.contract import Table
from nodewise.studies.results import Result

VALUES = np.array([[1.5, -0.1], [1e-300, 3.0000000000000004]])
RESULT = Result(
    "mine", {"n": "2"}, "plain", 0.25, {"axes": Table(("a", "b, c"), VALUES), "x": Table(("x",), VALUES[:, :1])}
)


def test_each_form_gives_the_same_numbers_back(tmp_path: Path) -> None:
    [archive] = write_result(RESULT, tmp_path / "r.npz")
    with np.load(archive) as read:
        np.testing.assert_array_equal(read["axes"], VALUES)
        assert list(read["axes_columns"]) == ["a", "b, c"]
    places = write_result(RESULT, tmp_path / "r.csv")
    assert [p.name for p in places] == ["r-axes.csv", "r-x.csv"]
    head, *rows = csv.reader(places[0].open())
    assert head == ["a", "b, c"]
    np.testing.assert_array_equal(np.array(rows, float), VALUES)
    [written] = write_result(RESULT, tmp_path / "r.json")
    answer = json.loads(written.read_text())
    np.testing.assert_array_equal(answer["tables"]["axes"]["rows"], VALUES)
    assert answer["variant"] == "plain" and answer["seconds"] == 0.25


@pytest.mark.parametrize(
    ("name", "what"), [("r.txt", "its end says"), ("r", "its end says"), ("no/r.npz", "no directory")]
)
def test_a_place_that_is_none_is_refused_before_anything_is_computed(name: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=what):
        check_target(tmp_path / name)


def test_a_full_disk_is_one_message() -> None:
    with pytest.raises(StoreError, match="/dev/full"):
        write_result(RESULT, Path("/dev/full"))
