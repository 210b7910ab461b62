# SPDX-License-Identifier: BSD-3-Clause
"""What is written of verdicts holds to the schemas that are published."""

import json
import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from nodewise.base.shapes import fit
from nodewise.experiments.compare import compare
from nodewise.experiments.tune import tune
from nodewise.records.experiment import read_experiment
from nodewise.verdicts.baseline import against_baseline
from nodewise.verdicts.encoding import encode, schema_of
from nodewise.verdicts.roofline import RooflineVerdict
from nodewise.verdicts.study import StudyVerdict
from tests.experiments.test_compare import Stream, _times
from tests.experiments.test_compare import _question as compared
from tests.experiments.test_tune import _question as tuned
from tests.json_schemas import check_json
from tests.report.stored import roofline_result, study_result
from tests.surfaces import Scripted, many_core
from tools.schemas import DOCUMENTS, PAGE, page_text, path_of, text_of


@pytest.mark.parametrize("kind", list(DOCUMENTS))
def test_the_published_schemas_are_those_of_the_verdicts(kind: str) -> None:
    assert path_of(kind).read_text() == text_of(kind), "run: .venv/bin/python tools/schemas.py"


def test_the_page_of_the_schemas_is_the_one_that_is_made() -> None:
    assert PAGE.read_text() == page_text(), "run: .venv/bin/python tools/schemas.py"


def _check(kind: str, verdict: Any) -> None:
    """It holds to its schema, and is read back as it was."""
    text = json.dumps(encode(verdict), allow_nan=False)
    check_json(kind, text)
    back = fit(json.loads(text), DOCUMENTS[kind].kind)
    assert encode(back) == encode(verdict) and back == fit(json.loads(text), DOCUMENTS[kind].kind)


@pytest.mark.parametrize("runs", [20, 120])
def test_a_tune_holds_to_its_schema(tmp_path: Path, runs: int) -> None:
    verdict = tune(tuned(tmp_path, runs), Scripted(many_core, 1))
    _check("tune", verdict)
    stored = json.loads((tmp_path / "x/verdict.json").read_text())
    assert stored == json.loads(json.dumps(encode(verdict)))


@pytest.mark.parametrize("runs", [1, 12])
def test_a_comparison_holds_to_its_schema_with_an_earlier_one_too(tmp_path: Path, runs: int) -> None:
    times = _times(a=1.0, b=1.2)
    verdict = compare(compared(tmp_path / "1", ["a", "b"], most=runs, fewest=runs), Stream(times))
    _check("compare", verdict)
    compare(compared(tmp_path / "2", ["a", "b"], most=runs, fewest=runs), Stream(times))
    earlier, later = (read_experiment(tmp_path / n / "x") for n in "12")
    _check("compare", replace(verdict, baseline=against_baseline(later, earlier)))


def test_a_study_and_a_roofline_hold_to_their_schemas() -> None:
    _check("study", study_result())
    _check("study", study_result(picture=("a", "b")))
    _check("roofline", roofline_result())
    assert fit(json.loads(json.dumps(encode(study_result()))), StudyVerdict) == study_result()
    assert fit(json.loads(json.dumps(encode(roofline_result()))), RooflineVerdict) == roofline_result()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"rows": {}}, "rows: a list is needed, not an object"),
        ({"blocks": "many"}, "blocks: a whole number is needed, not 'many'"),
        ({"blocks": True}, "blocks: a whole number is needed, not true"),
        ({"verdict": "better"}, "verdict: one of faster, slower, .* is needed, not 'better'"),
        ({"headline": None}, "headline: a text is needed, not null"),
        ({"picture": ["ratio"]}, "picture: a list of 2 is needed, not of 1"),
        ({"point": {"n": 3}}, r"point\.n: a text is needed, not 3"),
        ({"rows": [{"contender": "x"}]}, r"rows\[0\]\.kind: it is missing"),
    ],
)
def test_what_is_no_result_is_refused_by_the_place_that_is_wrong(change: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        fit({**json.loads(json.dumps(encode(study_result()))), **change}, StudyVerdict)


def test_a_hidden_field_is_not_written_and_a_computed_one_is() -> None:
    @dataclass(frozen=True)
    class Half:
        """Half of it is hidden."""

        value: int
        hidden: int = field(default=7, repr=False)
        computed: ClassVar[tuple[str, ...]] = ("twice",)

        @property
        def twice(self) -> int:
            """Two of it."""
            return 2 * self.value

    assert encode(Half(4), report=Path("x")) == {"schema_version": 3, "value": 4, "twice": 8, "report": "x"}
    schema = schema_of(Half, ("report",))
    assert schema["required"] == ["schema_version", "value", "twice"]
    assert schema["properties"]["twice"] == {"type": "integer"} and "hidden" not in schema["properties"]
    assert fit(encode(Half(4)), Half) == Half(4)


def test_what_is_no_number_is_null_and_what_is_no_kind_is_refused() -> None:
    @dataclass(frozen=True)
    class Odd:
        """Odd."""

        value: float | None
        more: object = None

    assert encode(Odd(math.inf))["value"] is None
    with pytest.raises(TypeError, match="holds a set"):
        encode(Odd(1.0, {1}))
    with pytest.raises(TypeError, match="no schema"):
        schema_of(Odd)


def test_a_path_is_its_text() -> None:
    @dataclass(frozen=True)
    class Kept:
        at: Path

    assert encode(Kept(Path("here/x")))["at"] == "here/x"
