# SPDX-License-Identifier: BSD-3-Clause
"""Commands and parameters as a user writes them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.base.errors import InputError
from nodewise.experiments.contenders import make_contenders, needs_shell, parse_parameter, parse_values
from nodewise.tuning.custom import put_in


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,2,4", ("1", "2", "4")),
        ("1..5", ("1", "2", "3", "4", "5")),
        ("1..64*2", ("1", "2", "4", "8", "16", "32", "64")),
        ("1..100*3", ("1", "3", "9", "27", "81")),
        ("0..1+0.25", ("0", "0.25", "0.5", "0.75", "1")),
        ("-1..1", ("-1", "0", "1")),
        ("0.1..0.3+0.1", ("0.1", "0.2", "0.3")),
        ("100..300+100", ("100", "200", "300")),
        ("a\\,b,c", ("a,b", "c")),
        ("one", ("one",)),
        ("..", ("..",)),
    ],
)
def test_values_and_ranges(text: str, values: tuple[str, ...]) -> None:
    assert parse_values(text) == values


@pytest.mark.parametrize(
    "text",
    ["5..1", "1..9*1", "0..9*2", "1..9+0", "1..x", "1..9*0.5", "0..1+0.00000001", "1..2.3.4", "1..", "..8", "-2.."],
)
def test_ranges_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_values(text)


@pytest.mark.parametrize("text", ["5..1", "1..9*1", "0..9*2", "-1..9*2", "1..9+0"])
def test_a_range_that_would_go_on_for_ever_is_named_as_such(text: str) -> None:
    with pytest.raises(InputError, match=f"{re.escape(repr(text))} never ends"):
        parse_values(text)


@pytest.mark.parametrize("text", ["x", "=1", "2x=1", "x="])
def test_a_parameter_needs_a_name_and_values(text: str) -> None:
    with pytest.raises(InputError, match="NAME=VALUES"):
        parse_parameter(text)


def test_every_combination_of_the_parameters_that_a_command_names() -> None:
    made = make_contenders(["./a {n} {k}", "./b {n}"], {"n": ("1", "2"), "k": ("x", "y")})
    assert [c.text for c in made] == ["./a 1 x", "./a 1 y", "./a 2 x", "./a 2 y", "./b 1", "./b 2"]
    assert made[0].setting.command == ("./a", "1", "x")
    assert made[5].setting.values == {"n": "2"}


def test_a_parameter_in_a_step_alone_makes_contenders_too() -> None:
    made = make_contenders(["./a"], {"rev": ("old", "new")}, setup="make {rev}")
    assert [(c.setting.name, c.steps.setup) for c in made] == [("./a", "make old"), ("./a (2)", "make new")]


def test_a_parameter_that_no_command_names_is_refused() -> None:
    with pytest.raises(InputError, match=r"\{k\}"):
        make_contenders(["./a {n}"], {"n": ("1",), "k": ("2",)})


@pytest.mark.parametrize(
    ("text", "words", "shell"),
    [
        ("./a 'b c'", ("./a", "b c"), None),
        ("./a | wc", ("sh", "-c", "./a | wc"), "sh"),
        ("X=1 ./a", ("sh", "-c", "X=1 ./a"), "sh"),
        ("./a x=1", ("./a", "x=1"), None),
        ("ls *.c", ("sh", "-c", "ls *.c"), "sh"),
    ],
)
def test_a_shell_is_used_only_where_its_syntax_is(text: str, words: tuple[str, ...], shell: str | None) -> None:
    (made,) = make_contenders([text], {})
    assert (made.setting.command, made.shell) == (words, shell)
    (plain,) = make_contenders(["./a b"], {}, shell="bash -e")
    assert plain.setting.command == ("bash", "-e", "-c", "./a b")


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("sh -c 'sleep .01; exit 5'", False),
        ('grep -c "a;b|c" f', False),
        ("echo it\\'s 'a;b'", False),
        ('echo "$HOME"', True),
        ("echo 'a' ; b", True),
        ("echo \"it's\" > 'x'", True),
        ("echo \\; b", False),
    ],
)
def test_what_stands_in_quotes_is_a_word(text: str, needed: bool) -> None:
    assert needs_shell(text) == needed


def test_what_cannot_be_split_is_refused() -> None:
    for text in ("", "  ", "./a 'b"):
        with pytest.raises(InputError):
            make_contenders([text], {})


def test_equal_commands_get_numbers_and_names_are_given_in_order() -> None:
    assert [c.setting.name for c in make_contenders(["a", "a", "a"], {})] == ["a", "a (2)", "a (3)"]
    assert [c.setting.name for c in make_contenders(["a", "b"], {}, names=["x", "y"])] == ["x", "y"]
    with pytest.raises(InputError, match="names"):
        make_contenders(["a", "b"], {}, names=["x", "y", "z"])


def test_steps_are_for_all_or_for_each() -> None:
    each = make_contenders(["a", "b"], {}, prepare=["p", "q"], conclude=["r"])
    assert [(c.steps.prepare, c.steps.conclude) for c in each] == [("p", "r"), ("q", "r")]
    with pytest.raises(InputError, match="--prepare"):
        make_contenders(["a", "b", "c"], {}, prepare=["p", "q"])


@given(st.text(), st.dictionaries(st.from_regex(r"[a-z]{1,3}", fullmatch=True), st.text(max_size=5)))
def test_only_named_braces_are_replaced(text: str, values: dict[str, str]) -> None:
    if not any("{" + n + "}" in text for n in values):
        assert put_in(text, values) == text
    assert put_in("{zzzz}" + text, values).startswith("{zzzz}")


@given(st.integers(-50, 50), st.integers(0, 60), st.integers(1, 9))
def test_a_range_is_what_python_counts(low: int, count: int, step: int) -> None:
    assert parse_values(f"{low}..{low + count}+{step}") == tuple(str(n) for n in range(low, low + count + 1, step))
