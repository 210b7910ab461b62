# SPDX-License-Identifier: BSD-3-Clause
"""Plain values checked against shapes, and JSON read with bounds."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.base.bounded_json import LARGEST, parse_json, read_bounded
from nodewise.base.escaping import SHOWN, escaped, escaped_all
from nodewise.base.shapes import ShapeError, Within, fit


class Colour(StrEnum):
    """An enum."""

    RED = "red"


@dataclass(frozen=True)
class Part:
    """A dataclass."""

    name: str
    places: tuple[int, ...] = ()
    inner: Mapping[str, float] = field(default_factory=dict)


class Whole(TypedDict):
    """A typed dictionary."""

    parts: Sequence[Part]
    share: Annotated[float, Within(0, 1)]
    colour: Colour
    kind: Literal["a", "b"]
    pair: tuple[int, str]
    note: NotRequired[str | None]


GOOD: dict[str, Any] = {
    "parts": [{"name": "x", "places": [1, 2], "inner": {"a": 1, "b": 0.5}, "new": 1}],
    "share": 0,
    "colour": "red",
    "kind": "b",
    "pair": [1, "x"],
}


def test_what_fits_is_made_into_its_types() -> None:
    made = fit(GOOD, Whole)
    assert made["parts"] == [Part("x", (1, 2), {"a": 1, "b": 0.5})]
    assert made["colour"] is Colour.RED and made["pair"] == (1, "x")


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("parts", 0, "places", 1), "2", "parts[0].places[1]: a whole number is needed, not '2'"),
        (("parts", 0, "places", 1), True, "parts[0].places[1]: a whole number is needed, not true"),
        (("parts", 0, "inner", "b"), [], "parts[0].inner.b: a number is needed, not a list"),
        (("parts", 0, "inner"), [], "parts[0].inner: an object is needed, not a list"),
        (("parts", 0), None, "parts[0]: an object is needed, not null"),
        (("parts",), "abc", "parts: a list is needed, not 'abc'"),
        (("share",), 1.5, "share: a number at least 0 and at most 1 is needed, not 1.5"),
        (("share",), float("nan"), "share: a finite number is needed, not nan"),
        (("colour",), "blue", "colour: one of red is needed, not 'blue'"),
        (("colour",), [], "colour: one of red is needed, not a list"),
        (("kind",), {}, "kind: one of a, b is needed, not an object"),
        (("pair",), [1], "pair: a list of 2 is needed, not of 1"),
        (("note",), 1, "note: a text is needed, not 1"),
    ],
)
def test_what_does_not_fit_is_named(place: tuple[Any, ...], value: Any, message: str) -> None:
    data = json.loads(json.dumps(GOOD))
    inner = data
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    with pytest.raises(ShapeError) as caught:
        fit(data, Whole)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["parts", "share", "pair"])
def test_what_is_missing_is_named(name: str) -> None:
    with pytest.raises(ShapeError, match=f"{name}: it is missing"):
        fit({k: v for k, v in GOOD.items() if k != name}, Whole)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda s: st.lists(s) | st.dictionaries(st.text(), s),
    )
)
def test_anything_else_is_refused_and_nothing_worse(value: Any) -> None:
    for shape in (Whole, Part, Colour, tuple[int, ...], Mapping[str, Part], int | None, float | str):
        try:
            fit(value, shape)
        except ShapeError as problem:
            assert str(problem)


@pytest.mark.parametrize(
    "text",
    [
        *("1" * 30, "1" * 5000, "1e101", "-1e400"),
        *("[" * 101 + "]" * 101, '{"a":' * 101 + "1" + "}" * 101, "[" * 10**6),
        *("", "[1,", b"\xff", '"\\ud800"', '["\\udc00"]', '{"\\udcff\\ud800": 1}'),
    ],
)
def test_json_beyond_the_bounds_is_refused(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_json(text)


def test_json_within_the_bounds_is_read() -> None:
    assert parse_json("[1e100, 1e-99, 1e-101, NaN, -9223372036854775808]") == [LARGEST, 1e-99, 0.0, None, -(1 << 63)]
    assert parse_json("[" * 100 + "]" * 100) is not None
    assert parse_json('"[[[[' + "[" * 1000 + '"') == "[[[[" + "[" * 1000
    assert parse_json('"\\udcff \\ud83d\\ude00"') == "\udcff \U0001f600"


def test_a_file_is_read_only_as_far_as_it_may_be_long(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"12345")
    assert read_bounded(tmp_path / "f", 5) == b"12345"
    with pytest.raises(ValueError, match="more than 4 bytes"):
        read_bounded(tmp_path / "f", 4)
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(ValueError, match="no regular file"):
            read_bounded(path)


def test_stray_bytes_are_shown() -> None:
    assert escaped(b"a\xffb".decode(errors="surrogateescape")) == "a\\xffb"
    assert escaped_all({"\udcfe": ["\udcff", 1]}) == {"\\xfe": ["\\xff", 1]}
    assert "é\udcff".encode("utf-8", SHOWN) == "é\\xff".encode()
    assert "é\udcff".encode("ascii", SHOWN) == b"\\xe9\\xff"
