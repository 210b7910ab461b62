# SPDX-License-Identifier: BSD-3-Clause
"""Numbers with units, and lists of processors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.base.errors import InputError
from nodewise.base.processors import format_processors, parse_processors
from nodewise.base.units import format_bytes, format_count, format_percent, format_rate, format_seconds, parse_seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("60", 60),
        ("60s", 60),
        ("500ms", 0.5),
        ("2min", 120),
        ("1.5h", 5400),
        (" 3 s ", 3),
        (".5", 0.5),
        ("10sec", 10),
        ("10 s", 10),
        ("1.5min", 90),
        ("2h30m", 9000),
        ("2 h 30 min", 9000),
        ("1m30s", 90),
        ("3 Minutes", 180),
        ("1d", 86400),
    ],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "s",
        "-1s",
        "0",
        "1 2",
        "5 parsecs",
        "1e9999x",
        "nan",
        "30m1h",
        "1h2h",
        "1,5min",
        "2h30",
        "x 3s",
        "9" * 400,
        "1h 0.5.5s",
    ],
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="duration"):
        parse_seconds(text)
    with pytest.raises(InputError, match="--budget"):
        parse_seconds(text, "--budget")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0123, "12.3 ms"),
        (1.5, "1.5 s"),
        (125, "2 min 5 s"),
        (3e-7, "300 ns"),
        (4.2e-5, "42 µs"),
        (0.9996, "1 s"),
        (0.9994, "999 ms"),
        (9.996e-7, "1 µs"),
        (179.7, "3 min"),
        (0, "0 ns"),
    ],
)
def test_durations_are_written(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


def test_sizes_and_shares_are_written() -> None:
    assert format_bytes(1536) == "1.5 KiB"
    assert format_bytes(24 * 2**30) == "24 GiB"
    assert format_percent(0.01) == "1%"
    assert format_percent(0.005) == "0.5%"


@given(st.sets(st.integers(0, 500), min_size=1))
def test_lists_of_processors_round_trip(processors: set[int]) -> None:
    assert parse_processors(format_processors(processors)) == tuple(sorted(processors))


@pytest.mark.parametrize("text", ["", "a", "3-1", "1,,2", "1-4:0", "-1", "1 2", "9" * 40])
def test_what_is_no_list_of_processors_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="processors"):
        parse_processors(text)


def test_ranges_with_strides_are_read() -> None:
    assert parse_processors("0-3,8,10-14:2") == (0, 1, 2, 3, 8, 10, 12, 14)


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused_with_a_message(text: str) -> None:
    for parse in (parse_seconds, parse_processors):
        try:
            parse(text)
        except InputError as problem:
            assert problem.what


def test_a_rate_has_four_digits_and_no_exponent_where_it_can_be_read() -> None:
    shown = [format_rate(r) for r in (0.093234, 104.31, 9999.4, 9999.6, 40612.3, 52392200.0, 1.234e9, 0.0)]
    assert shown == ["0.09323", "104.3", "9999", "10000", "40610", "52390000", "1.234e+09", "0"]


@pytest.mark.parametrize(("count", "text"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs")])
def test_one_thing_is_singular(count: int, text: str) -> None:
    assert format_count(count, "run") == text
