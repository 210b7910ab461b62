# SPDX-License-Identifier: BSD-3-Clause
"""Objects that are mostly alike are read as any JSON is, and members of equal text are one object."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodewise.base.alike_json import AlikeObjects
from nodewise.base.bounded_json import bounded, parse_json
from tests.examples import examples

_NAMES = st.sampled_from(["a", "b", "cc", 'qu"ote', "back\\slash", "ü", "\n", "", 'a":1', "}"])
_VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(-1e99, 1e99).map(bounded) | st.text(),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(_NAMES | st.text(), inside, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(_NAMES, _VALUES, max_size=5), min_size=1, max_size=8), st.booleans(), st.randoms())
@settings(max_examples=examples(150), deadline=None)
def test_objects_are_read_as_others_are(objects: list[dict[str, Any]], plain: bool, random: Any) -> None:
    reader = AlikeObjects()
    for one in (*objects, *random.choices(objects, k=4)):
        text = json.dumps(one, ensure_ascii=not plain, separators=(",", ":") if plain else (", ", ": "))
        data = text.encode("utf-8", "surrogatepass")
        try:
            wanted = parse_json(data)
        except ValueError as problem:
            with pytest.raises(ValueError, match=r".") as said:
                reader.parse(data)
            assert str(said.value) == str(problem)
        else:
            assert repr(reader.parse(data)) == repr(wanted)


@given(st.dictionaries(_NAMES, _VALUES, min_size=1, max_size=4), st.integers(0, 60), st.sampled_from('{}[],:"\\x1 '))
@settings(max_examples=examples(300), deadline=None)
def test_what_is_wrong_is_said_as_of_others(value: dict[str, Any], place: int, sign: str) -> None:
    text = json.dumps(value, separators=(",", ":"))
    place %= len(text)
    reader = AlikeObjects()
    reader.parse(text.encode())
    for broken in (text[:place], text[:place] + sign + text[place:], text[:place] + text[place + 1 :]):
        try:
            wanted = repr(parse_json(broken))
        except ValueError as problem:
            wanted = str(problem)
        try:
            found = repr(reader.parse(broken.encode()))
        except ValueError as problem:
            found = str(problem)
        # numbers alone have no bounds here
        assert found == wanted or "64 bits" in wanted or "beyond" in wanted


def test_members_of_equal_text_are_one_object() -> None:
    reader = AlikeObjects()
    one, two, three = (reader.parse(b'{"a":{"x":%s},"b":{"y":[1]}}' % v) for v in (b"1", b"1.0", b"1"))
    assert one["a"] is three["a"] and one["b"] is two["b"] is three["b"]
    # equal by value alone they are two, as a whole number is none with a point
    assert one["a"] is not two["a"] and type(two["a"]["x"]) is float


def test_of_the_same_name_twice_the_last_counts() -> None:
    assert AlikeObjects().parse(b'{"a":{"x":1},"a":{"x":2}}') == {"a": {"x": 2}}


@pytest.mark.parametrize("depth", [99, 100, 101])
def test_depth_is_bounded_through_members(depth: int) -> None:
    text = b'{"a":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"
    if depth <= 100:
        assert AlikeObjects().parse(text) == parse_json(text)
    else:
        with pytest.raises(ValueError, match="nested deeper than 100"):
            AlikeObjects().parse(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (rb'{"a":"\ud800"}', "half a character"),
        (rb'{"a":{"b":["\uDFFF"]}}', "half a character"),
        (b'{"a":1}\x0b', "no JSON"),
        (b'{"a":1}\xc2\xa0', "no JSON"),
        (b'{"a":1}}', "no JSON"),
        (b'{"a":"\xff"}', "no UTF-8"),
    ],
)
def test_what_no_json_may_have_is_refused(text: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        AlikeObjects().parse(text)


def test_no_more_is_remembered_than_differed_of_late() -> None:
    reader = AlikeObjects()
    first = reader.parse(b'{"a":{"x":0}}')["a"]
    for number in range(1, 40):
        reader.parse(b'{"a":{"x":%d},"n%d":1}' % (number, number * 7))
    assert reader.parse(b'{"a":{"x":0}}')["a"] is not first
    for number in range(200):
        assert reader.parse(b'{"m%d":{"x":1}}' % number) == {f"m{number}": {"x": 1}}
