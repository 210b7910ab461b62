# SPDX-License-Identifier: BSD-3-Clause
"""Studies and rooflines as they were kept, read back."""

import json
from pathlib import Path
from typing import Any

import pytest

from nodewise.base.errors import InputError
from nodewise.verdicts.stored import read_stored
from tests.report.stored import roofline_page_of, roofline_result, study_page_of, study_result
from tests.surfaces import machine
from tests.verdicts.cases import Runs, compared


def test_what_was_kept_comes_back(tmp_path: Path) -> None:
    study_page_of([study_result(), study_result(seconds=0.03)], "how", tmp_path / "s")
    kept = read_stored(tmp_path / "s")
    assert kept.verdicts == (study_result(), study_result(seconds=0.03))
    assert (kept.question.kind, kept.question.readme, kept.machine) == ("study", "how", machine(2, 1))
    roofline_page_of(roofline_result(), tmp_path / "r")
    found = read_stored(tmp_path / "r")
    assert (found.verdict, found.question.kind, found.machine) == (roofline_result(), "roofline", machine(2, 1))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ({"results": []}, "is damaged: it holds no results"),
        ({"results": {"a": 1}}, "is of an older nodewise, this one reads schema 3"),
        ({"results": [{}]}, "is of an older nodewise, this one reads schema 3"),
        ({"results": [7]}, "is of an older nodewise, this one reads schema 3"),
        ({"results": [{"schema_version": 2}]}, "is of a nodewise with schema 2, this one reads schema 3"),
        ({"results": [{"schema_version": 3}]}, "is damaged: kind: it is missing"),
    ],
)
def test_what_cannot_be_read_says_why_and_how_it_is_made_anew(tmp_path: Path, text: dict[str, Any], told: str) -> None:
    study_page_of(study_result(), "", tmp_path)
    (tmp_path / "verdict.json").write_text(json.dumps(text))
    with pytest.raises(InputError, match=told) as caught:
        read_stored(tmp_path)
    assert str(tmp_path / "verdict.json") in caught.value.what
    assert caught.value.hint == f"make it again with: nodewise study --resume {tmp_path}"


def test_a_roofline_is_measured_again(tmp_path: Path) -> None:
    roofline_page_of(roofline_result(), tmp_path)
    (tmp_path / "verdict.json").write_text(json.dumps({"result": {"schema_version": 2}}))
    with pytest.raises(InputError) as caught:
        read_stored(tmp_path)
    assert caught.value.hint == "make it again with: nodewise study --roofline"


def test_a_study_has_no_samples_to_be_read(tmp_path: Path) -> None:
    study_page_of(study_result(), "", tmp_path)
    with pytest.raises(ValueError, match="the samples of a study are not read"):
        _ = read_stored(tmp_path).experiment


def test_it_may_be_called_otherwise_than_its_folder(tmp_path: Path) -> None:
    compared(tmp_path / "c", {"a": Runs(1.0), "b": Runs(0.5)}, 6)
    study_page_of([study_result()], "how", tmp_path / "s")
    for name in ("c", "s"):
        called, own = read_stored(tmp_path / name, called=Path("other")), read_stored(tmp_path / name)
        assert str(called.folder) == "other" and own.folder == tmp_path / name
