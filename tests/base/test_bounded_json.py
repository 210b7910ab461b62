# SPDX-License-Identifier: BSD-3-Clause
"""JSON from outside: what is within the bounds is read as it is, what is one step beyond is refused in words."""

import json
import math
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodewise.base.bounded_json import LARGEST, bounded, open_regular, parse_json, read_bounded

_DEEPEST = 100


def _refused(text: str | bytes) -> str:
    with pytest.raises(ValueError) as problem:
        parse_json(text)
    return str(problem.value)


_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(-1e99, 1e99).map(bounded) | st.text(),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(), inside, max_size=4),
    max_leaves=12,
)


@given(_PLAIN)
@settings(max_examples=50, deadline=None)
def test_what_is_within_the_bounds_is_read_as_it_is(value: object) -> None:
    text = json.dumps(value)
    assert parse_json(text) == value and parse_json(text.encode()) == value
    assert parse_json(json.dumps(value, ensure_ascii=False)) == value


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**21, -(10**20), 10**400])
def test_a_whole_number_has_64_bits(number: int) -> None:
    assert [parse_json(str(n)) for n in (2**63 - 1, -(2**63))] == [2**63 - 1, -(2**63)]
    text = str(number)
    assert _refused(text) == f"the number {text if len(text) < 25 else text[:20] + '…'} has more than 64 bits"


def test_a_number_is_shown_up_to_24_signs_long() -> None:
    assert f"1{'0' * 23} has" in _refused(f"1{'0' * 23}") and f"1{'0' * 19}… has" in _refused(f"1{'0' * 24}")


@pytest.mark.parametrize("sign", [1, -1])
def test_other_numbers_are_bounded_on_both_sides(sign: int) -> None:
    smallest = 1 / LARGEST
    for number in (LARGEST, smallest, 1.5, 0.0):
        assert bounded(sign * number) == parse_json(repr(sign * number)) == sign * number
    assert bounded(sign * math.nextafter(smallest, 0)) == 0 == parse_json(f"{sign}e-300")
    beyond = sign * math.nextafter(LARGEST, math.inf)
    with pytest.raises(ValueError, match=r"beyond ±1e\+100"):
        bounded(beyond)
    assert _refused(repr(beyond)) == f"the number {beyond!r} is beyond ±1e+100"
    assert _refused(f"{sign}e400") == f"the number {sign}e400 is beyond ±1e+100"


def test_what_is_written_as_no_number_is_null() -> None:
    assert parse_json("[NaN, Infinity, -Infinity]") == [None] * 3
    with pytest.raises(ValueError, match="the number nan is beyond"):
        bounded(math.nan)


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]"), ('["[", ', "]"), ('["]}", ', "]"), (r'["\"]", ', "]")],
)
def test_it_is_nested_a_hundred_deep_at_most(opening: str, closing: str) -> None:
    layers = _DEEPEST // (2 if opening.startswith("[{") else 1)
    assert parse_json(opening * layers + "1" + closing * layers)
    for deeper in (layers + 1, 5000, 100_000):
        assert _refused(opening * deeper + "1" + closing * deeper) == "nested deeper than 100"


def test_many_beside_each_other_are_not_deep() -> None:
    for value in ([[] for _ in range(300)], {str(i): {"x": []} for i in range(300)}, "[{" * 300, ["]}", '"['] * 300):
        assert parse_json(json.dumps(value)) == value


@pytest.mark.parametrize(
    "text", [r'"\ud800"', r'["a", {"b": "\uDFFF"}]', r'{"x\uDBFF": 1}', r'[[], {"a": ["\ude00x"]}]']
)
def test_half_a_character_is_refused(text: str) -> None:
    assert _refused(text) == "a text holds half a character"


def test_bytes_and_whole_characters_in_escapes_are_read() -> None:
    for text in ("\udcff", "\udc80x", "\U0001f600", r"\ud800"):
        assert parse_json(json.dumps([text])) == [text]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b'"a\xff"', "byte 3 is no UTF-8"),
        (b"\xff", "byte 1 is no UTF-8"),
        ("", "no JSON: expecting value at column 1"),
        ('{"a": 1, x}', "no JSON: expecting property name enclosed in double quotes at column 10"),
        ('{"a": 1,\n "b" 2}', "no JSON: expecting ':' delimiter at line 2, column 6"),
        ("1 2", "no JSON: extra data at column 3"),
    ],
)
def test_what_is_no_json_names_the_place(text: str | bytes, words: str) -> None:
    assert _refused(text) == words


def test_a_file_is_read_whole_up_to_the_bytes_that_it_may_have(tmp_path: Path) -> None:
    file = tmp_path / "file"
    # more than is read in one piece
    content = os.urandom(1 << 10) * 1025 + b"end"
    file.write_bytes(content)
    assert read_bounded(file) == read_bounded(file, len(content)) == content
    with pytest.raises(ValueError, match=f"it has more than {len(content) - 1} bytes"):
        read_bounded(file, len(content) - 1)
    with pytest.raises(FileNotFoundError):
        read_bounded(tmp_path / "none")


def test_only_a_regular_file_is_read_and_none_is_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(ValueError, match="it is no regular file"):
            open_regular(path)
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors
