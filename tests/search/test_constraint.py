# SPDX-License-Identifier: BSD-3-Clause
"""Conditions between axes: what is read, what it means, and what is refused, with the words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.base.errors import InputError
from nodewise.search.constraint import parse_constraint


@pytest.mark.parametrize(
    "text",
    [
        "n <",
        "n + wings > 1",
        "__import__('os')",
        "n.real > 1",
        "(lambda: 1)()",
        "[x for x in (1,)]",
        "n if n else 2",
        "f'{n}'",
        "1+" * 3000 + "1",
        "(" * 900 + "1" + ")" * 900,
    ],
)
def test_what_is_no_constraint_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="constraint"):
        parse_constraint(text, ["n"])


@given(st.integers(-20, 20), st.integers(-20, 20), st.sampled_from(["a", "b"]))
def test_constraints_mean_what_python_means(n: int, m: int, kind: str) -> None:
    text = "n * 2 - m > 3 and (kind == 'a' or not n % 3 == m) and -5 <= n <= 12 and kind in ('a', 'b')"
    held = parse_constraint(text, ["n", "m", "kind"]).holds({"n": n, "m": str(m), "kind": kind})
    assert held == bool(eval(text, {"n": n, "m": m, "kind": kind}))


def test_a_division_by_zero_does_not_hold_and_axes_with_dashes_are_written_with_underscores() -> None:
    constraint = parse_constraint("8 / core_type > 1", ["core-type"])
    assert constraint.names == {"core-type"}
    assert not constraint.holds({"core-type": 0})
    assert constraint.holds({"core-type": 2})


@pytest.mark.parametrize(
    ("text", "point", "held"),
    [
        ("n + m == 5", {"n": "2", "m": 3}, True),
        ("n - m == -1", {"n": "2", "m": 3}, True),
        ("n * m == 6", {"n": 2, "m": 3}, True),
        ("m // n == 1 and m % n == 1 and m / n == 1.5", {"n": 2, "m": 3}, True),
        ("n != m", {"n": 2, "m": "2"}, False),
        ("n < m", {"n": 2, "m": 2}, False),
        ("n <= m", {"n": 2, "m": 2}, True),
        ("n > m", {"n": 2, "m": 2}, False),
        ("n >= m", {"n": 2, "m": 2}, True),
        ("n in [1, 2]", {"n": 2, "m": 2}, True),
        ("n not in (1, 2)", {"n": 2, "m": 2}, False),
        ("n > 1 or m / 0 > 1", {"n": 2, "m": 2}, True),
        ("n > 1 and m / 0 > 1", {"n": 2, "m": 2}, False),
        ("n < 1 or m < 1 or n == m", {"n": 2, "m": 2}, True),
        ("not n == m", {"n": "static", "m": "static"}, False),
        ("1 < n < m", {"n": 2, "m": 3}, True),
        ("1 < n < m", {"n": 3, "m": 3}, False),
        ("-n < 0", {"n": 3, "m": 3}, True),
        ("n % m", {"n": 1, "m": 0}, False),
    ],
)
def test_each_word_means_what_it_says(text: str, point: dict[str, object], held: bool) -> None:
    assert parse_constraint(text, ["n", "m"]).holds(point) is held


@pytest.mark.parametrize(
    ("text", "told", "hint"),
    [
        ("n <", "the constraint 'n <' cannot be read at character 4", "write it such as"),
        ("n + wings", "'n + wings' speaks of wings, which is no axis here", "the axes are: core_type, n"),
        ("n.real > 1", "holds more than a comparison: n.real", "+ - * / // %, comparisons"),
        ("n \udcff < 1", "cannot be read as text", "write it such as"),
        ("n\0 < 1", "the constraint 'n\\x00 < 1' cannot be read", "write it such as"),
        ("n > None", "holds more than a comparison: None", "names of axes"),
        ("x" * 2001, "has 2001 characters", "2000 are read"),
    ],
)
def test_what_is_refused_says_where_and_what_is_read(text: str, told: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_constraint(text, ["n", "core-type"])
    assert told in caught.value.what and hint in (caught.value.hint or "")


def test_what_cannot_be_worked_out_and_where_there_are_no_axes() -> None:
    with pytest.raises(InputError, match="the constraint 'n < 1' cannot be worked out: "):
        parse_constraint("n < 1", ["n"]).holds({"n": "static"})
    # Python would repeat the text a thousand million times
    for text in ("'a' * 1000000000 > n", "[n] * 1000000000 == n", "'%d' % n > 1", "-'a' > n", "9" * 400 + " / n > 1"):
        with pytest.raises(InputError, match="cannot be worked out: "):
            parse_constraint(text, ["n"]).holds({"n": 3})
    with pytest.raises(InputError) as caught:
        parse_constraint("n", [])
    assert caught.value.hint == "the axes are: none"
    assert parse_constraint("1 < 2" + " " * 1995, []).names == frozenset()
    assert parse_constraint("n * m > 1", ["n", "m", "k"]).names == {"n", "m"}


@pytest.mark.parametrize("text", ["n" + ".a" * 900, "-" * 1500 + "n", "n+" * 150 + "n", "(" * 900 + "n" + ")" * 900])
def test_what_is_nested_too_deeply_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is nested too deeply") as caught:
        parse_constraint(text, ["n"])
    assert caught.value.hint == "100 levels are read"


def test_so_many_levels_are_worked_out() -> None:
    assert parse_constraint("-" * 94 + "n < 2", ["n"]).holds({"n": 1})
    assert not parse_constraint("n<" * 900 + "n", ["n"]).holds({"n": 1})
