# SPDX-License-Identifier: BSD-3-Clause
"""What an experiment was asked, read back."""

import json
from pathlib import Path
from typing import Any

import pytest

from nodewise.base.errors import InputError
from nodewise.experiments.compare import compare
from nodewise.records.experiment import read_experiment
from nodewise.runner.launch import Start
from nodewise.verdicts.compare import reference_of
from nodewise.verdicts.question import machine_of, question_of, read_machine_of, read_question_of, stopped_by
from tests.experiments.test_compare import Stream, _question, _times
from tests.surfaces import machine


def test_what_was_asked_comes_back_with_its_machine(tmp_path: Path) -> None:
    asked = _question(tmp_path, ["a", "b"], most=1, fewest=1)
    compare(asked, Stream(_times(a=1.0, b=1.2)))
    experiment = read_experiment(asked.out)
    question = question_of(experiment)
    assert [c.name for c in question.contenders] == ["a", "b"] and reference_of(experiment) == "a"
    assert (question.kind, question.within, question.seed) == ("compare", asked.within, asked.seed)
    assert question.start == Start() and machine_of(experiment) == asked.machine
    assert stopped_by(experiment) == "runs"


def test_a_comparison_of_nothing_is_refused(tmp_path: Path) -> None:
    asked = _question(tmp_path, ["a"], most=1, fewest=1)
    compare(asked, Stream(_times(a=1.0)))
    experiment = read_experiment(asked.out)
    experiment.question["contenders"] = []
    with pytest.raises(InputError, match=r"/question\.json is damaged: it names no contenders"):
        reference_of(experiment)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"within": "much"}, "within: a number is needed, not 'much'"),
        ({"contenders": [{"name": 3, "text": "a"}]}, r"contenders\[0\]\.name: a text is needed, not 3"),
        ({"environment": []}, "environment: an object is needed, not a list"),
        ({"kind": None}, "kind: a text is needed, not null"),
        ({"machine_is_live": "yes"}, "machine_is_live: true or false is needed, not 'yes'"),
    ],
)
def test_a_damaged_question_is_refused_by_the_place_that_is_wrong(change: dict[str, Any], told: str) -> None:
    record = json.loads(json.dumps({"kind": "compare", "machine": {}, "within": 0.01, **change}))
    with pytest.raises(InputError, match=f"x/question.json is damaged: {told}"):
        read_question_of(record, Path("x"))


def test_a_damaged_machine_is_refused_by_the_file_that_has_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x/question.json is damaged: machine\.cores"):
        read_machine_of({"machine": {**machine(2, 1).to_json(), "cores": 7}}, Path("x"))


def test_what_an_older_question_does_not_say_has_its_usual_value() -> None:
    found = read_question_of({"kind": "compare", "within": 0.02}, Path("x"))
    assert (found.within, found.seed, found.warmup, found.unswept, found.sweep) == (0.02, 0, 0, 0, None)
    assert (found.accept_disturbed, found.refuted, found.machine_is_live) == (False, False, True)
