# SPDX-License-Identifier: BSD-3-Clause
"""Results without an experiment of their own, kept and read back."""

import json
from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.records.experiment import Writer
from nodewise.records.result_store import ROOFLINE, STUDY, read_result
from tests.kept_result import keep_result
from tests.questions import tune_question
from tests.surfaces import machine


def test_what_is_kept_is_read_back_in_one(tmp_path: Path) -> None:
    kept = keep_result(
        tmp_path / "x", STUDY, {"readme": "how", "results": [1]}, machine(2, 1), {"OMP_X": "1", "Y": "2"}, ["a"]
    )
    assert json.loads(json.dumps(kept)) == read_result(tmp_path / "x")
    assert (kept["kind"], kept["readme"], kept["results"], kept["asked"]) == ("study", "how", [1], ["a"])
    assert kept["environment"] == {"OMP_X": "1"} and kept["nodewise_experiment"] == 1
    assert "results" not in (tmp_path / "x/question.json").read_text()
    roofline = keep_result(tmp_path / "r", ROOFLINE, {"result": {"a": 1}}, machine(2, 1), {}, [])
    assert roofline["result"] == {"a": 1}


def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    Writer(tmp_path / "tune", tune_question()).close()
    with pytest.raises(InputError, match="holds a tune, whose verdict is judged from its samples"):
        read_result(tmp_path / "tune")
    keep_result(tmp_path / "x", ROOFLINE, {"result": {}}, machine(2, 1), {}, [])
    verdict = tmp_path / "x/verdict.json"
    for text, reported in (("{}", "it holds no result"), ("[]", "it holds no result"), ("{", "is damaged: ")):
        verdict.write_text(text)
        with pytest.raises(InputError, match=reported):
            read_result(tmp_path / "x")
    verdict.unlink()
    with pytest.raises(InputError, match=r"was cut off before its end \(no verdict.json\)") as caught:
        read_result(tmp_path / "x")
    assert caught.value.hint == "get it with: nodewise study --roofline"
    verdict.mkdir()
    with pytest.raises(InputError, match="it is no regular file"):
        read_result(tmp_path / "x")
