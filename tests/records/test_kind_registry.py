# SPDX-License-Identifier: BSD-3-Clause
"""The registry of kinds: each of the house is whole, and what is not whole is not registered."""

import dataclasses
from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.base.shapes import ShapeError
from nodewise.records import kind_registry, kinds
from nodewise.records.experiment import Writer
from nodewise.records.kind import REFERENCES, Kind
from nodewise.records.kind_registry import all_kinds, check_references, kind_named, register
from tests.questions import compare_question


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind_registry.KINDS, "_registered", kind_registry.KINDS.all())


def made(**more: object) -> Kind:
    """A kind like a comparison, of another name."""
    return dataclasses.replace(kind_named("compare"), name="made", **more)  # type: ignore[arg-type]


def test_every_file_of_the_folder_is_a_kind_of_its_name() -> None:
    files = {path.stem for path in Path(next(iter(kinds.__path__))).glob("*.py")} - {"__init__"}
    assert files <= {kind.name for kind in all_kinds()}


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.name)
def test_all_that_a_kind_refers_to_is_there(kind: Kind) -> None:
    for name in (n for n in REFERENCES if getattr(kind, n)):
        found = kind.load(name)
        expected = dataclasses.is_dataclass(found) if name in ("verdict", "printed") else callable(found)
        assert expected, f"{kind.name}.{name}"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (dataclasses.replace(kind_named("compare")), "another has its name"),
        (dataclasses.replace(kind_named("compare"), name="a b"), "its name is no identifier"),
        (made(page=""), "it has no page"),
        (made(rows="nodewise.report"), "its rows 'nodewise.report' is no reference"),
        (made(judge=""), "either judged from the samples"),
        (made(keeps="result"), "either judged from the samples"),
    ],
)
def test_what_is_not_whole_is_not_registered(kind: Kind, message: str) -> None:
    with pytest.raises(InputError, match=message):
        register(kind)


def test_a_registered_kind_is_known_from_then_on() -> None:
    register(made(again="nodewise made {folder} --anew"))
    assert kind_named("made").remake_line(Path("x")) == "nodewise made x --anew"
    assert kind_named("compare").remake_line(Path("x")) == "nodewise compare --resume x"


@pytest.mark.parametrize("name", ["run", "compare", "confirm"])
def test_a_question_of_no_commands_or_of_two_of_one_name_is_none(name: str) -> None:
    check = kind_named(name).check
    assert check is not None
    promise = {"one": "a", "other": "b"}
    check({"contenders": [{"name": "a"}, {"name": "b"}], "promise": promise, "baseline": "a"})
    for names in ((), ("a", "a")):
        with pytest.raises(ShapeError, match="contenders"):
            check({"contenders": [{"name": n} for n in names], "promise": promise, "baseline": "a"})


@pytest.mark.parametrize("reference", ["nowhere_at_all:page", "json:pge"])
def test_a_reference_that_leads_nowhere_is_named_before_anything_is_made(tmp_path: Path, reference: str) -> None:
    register(made(page=reference))
    check_references(kind_named("compare"))
    with pytest.raises(InputError, match=f"experiment 'made': its page '{reference}' leads nowhere"):
        Writer(tmp_path / "x", {**compare_question(), "kind": "made"})
    assert not (tmp_path / "x").exists()
