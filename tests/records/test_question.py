# SPDX-License-Identifier: BSD-3-Clause
"""A stored question as it is read: what is spare of it may be damaged, and names stand in one line."""

from typing import Any

import pytest

from nodewise.base.shapes import ShapeError
from nodewise.records.question import check_question, named_in_one_line
from tests.questions import compare_question, tune_question


@pytest.mark.parametrize("name", ["id", "commit", "shown"])
def test_what_is_spare_and_damaged_is_left_out_and_said(name: str) -> None:
    kept, lost = check_question({**tune_question(), name: 3.5})
    assert name not in kept and len(lost) == 1 and name in lost[0]


def test_all_that_is_spare_may_be_damaged_at_once() -> None:
    kept, lost = check_question({**compare_question(), "id": 1, "commit": 2, "shown": [3]})
    assert not {"id", "commit", "shown"} & kept.keys() and len(lost) == 3


@pytest.mark.some(3)
@pytest.mark.parametrize(("name", "value"), [("kind", "pear"), ("kind", 3), ("seed", "x"), ("cwd", 1), ("within", 200)])
def test_other_damage_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        check_question({**tune_question(), name: value})
    for missing in ("seed", "cwd", "machine"):
        with pytest.raises(ShapeError, match=missing):
            check_question({k: v for k, v in tune_question().items() if k != missing})


def test_names_of_a_whole_question_stand_in_one_line() -> None:
    question = {
        "contenders": [{"name": "a\nb", "command": ["x\n"]}],
        "objective": {"metric": "m\nn", "maximise": True},
        "shown": {"metrics": [{"metric": "o\np", "maximise": False}], "currency": "E\nR"},
        "how": {"metrics": {"q\nr": "p"}, "other": "s\nt"},
    }
    assert named_in_one_line(question) == {
        "contenders": [{"name": "a\\x0ab", "command": ["x\n"]}],
        "objective": {"metric": "m\\x0an", "maximise": True},
        "shown": {"metrics": [{"metric": "o\\x0ap", "maximise": False}], "currency": "E\\x0aR"},
        "how": {"metrics": {"q\\x0ar": "p"}, "other": "s\nt"},
    }
    assert named_in_one_line({}) == {} and named_in_one_line({"how": None}) == {"how": None}


@pytest.mark.parametrize(
    ("name", "value"), [("threshold", -1), ("threshold", "x"), ("timeout_s", []), ("timeout_s", 0)]
)
def test_what_no_command_asks_for_is_damage(name: str, value: Any) -> None:
    assert check_question({**compare_question(), "timeout_s": 3.5, "threshold": 0.0})
    with pytest.raises(ShapeError, match=name):
        check_question({**compare_question(), name: value})
