# SPDX-License-Identifier: BSD-3-Clause
"""The scanner of placements' texts: what it goes past, what it reads, and where an error says that something stands."""

from collections.abc import Callable

import pytest

from nodewise.base.errors import InputError
from nodewise.placement.scan import LONGEST, LONGEST_RANGE, Scanner


def test_blanks_are_those_of_c() -> None:
    scanner = Scanner("it", " \t\n\v\f\ra")
    assert scanner.peek() == "a" and scanner.at == 6 and not scanner.done
    assert Scanner("it", " \t").done and not Scanner("it", "\N{NO-BREAK SPACE}").done
    assert Scanner("it", "").done


def test_marks_are_taken_whatever_their_case_and_nothing_else() -> None:
    scanner = Scanner("it", " All(x")
    assert scanner.take("aLL") and scanner.at == 4
    assert not scanner.take(")") and scanner.at == 4
    scanner.need("(")
    assert scanner.peek(2) == "x" and scanner.peek() == "x"
    scanner.at += 1
    scanner.end()


def test_numbers_are_of_at_most_nine_digits() -> None:
    assert Scanner("it", " 007").number() == 7
    assert Scanner("it", "999999999").number() == 999999999
    for text in ("1000000000", "-1", "x", "", "٣"):
        with pytest.raises(InputError, match="column 1: expected a number"):
            Scanner("it", text).number()
    for text, number in (
        ("-3", -3),
        ("+3", 3),
        ("--3", 3),
        ("-+3", -3),
        ("+-3", -3),
        ("- - -3", -3),
        ("-+-+3", 3),
        ("3", 3),
    ):
        assert Scanner("it", text).signed() == number, text


@pytest.mark.parametrize(
    ("text", "numbers", "rest"),
    [
        ("3", [3], ""),
        ("3-5", [3, 4, 5], ""),
        ("3-3", [3], ""),
        (" 3 - 7 : 2", [3, 5, 7], ""),
        ("3-8:2,1", [3, 5, 7], ",1"),
        ("3:2", [3], ":2"),
        (f"0-{LONGEST_RANGE}", list(range(65537)), ""),
    ],
)
def test_ranges_run_upwards(text: str, numbers: list[int], rest: str) -> None:
    scanner = Scanner("it", text)
    assert list(scanner.upward_range("a processor", strides=True)) == numbers and scanner.text[scanner.at :] == rest


@pytest.mark.parametrize("text", ["4-3", "0-65537", "0-4:0"])
def test_other_ranges_are_refused_where_they_begin(text: str) -> None:
    with pytest.raises(
        InputError, match="column 2: expected a range that runs upwards, over at most 65536 numbers, found"
    ):
        Scanner("it", f" {text}").upward_range("a processor", strides=True)
    scanner = Scanner("it", "0-4:2")
    # without strides a colon is left
    assert list(scanner.upward_range("a processor")) == [0, 1, 2, 3, 4] and scanner.peek() == ":"


@pytest.mark.parametrize(
    ("text", "read", "message"),
    [
        ("x", lambda s: s.upward_range("a processor"), "it='x', column 1: expected a processor, found 'x'"),
        ("1-x", lambda s: s.upward_range("n"), "it='1-x', column 3: expected the number at which the range ends, found 'x'"),
        ("1-2:", lambda s: s.upward_range("n", True), "it='1-2:', column 5: expected a stride, found its end"),
        ("x", lambda s: s.need(","), "it='x', column 1: expected ',', found 'x'"),
        ("x", lambda s: s.need(",", "a comma"), "it='x', column 1: expected a comma, found 'x'"),
        ("x", lambda s: s.end(), "it='x', column 1: expected the end, found 'x'"),
        (" x", lambda s: s.end("no more"), "it=' x', column 2: expected no more, found 'x'"),
        ("x" * 12, lambda s: s.end(), f"it='{'x' * 12}', column 1: expected the end, found '{'x' * 12}'"),
        ("x" * 13, lambda s: s.end(), f"it='{'x' * 13}', column 1: expected the end, found '{'x' * 12}'"),
        ("x" * 200, lambda s: s.end(), f"it='{'x' * 200}', column 1: expected the end, found '{'x' * 12}'"),
        ("x" * 201, lambda s: s.end(), f"it='{'x' * 197}...', column 1: expected the end, found '{'x' * 12}'"),
        (" pear", lambda s: s.choice(["Core", "b"], "a kind"), "it=' pear', column 2: expected a kind (Core, b), found 'pear'"),
        (
            "cores",
            lambda s: s.choice(["Core", "b"], "a kind"),
            "it='cores', column 1: expected a kind (Core, b), found 'cores'; did you mean Core?",
        ),
    ],
)  # fmt: skip
def test_an_error_says_what_was_expected_and_what_is_there(
    text: str, read: Callable[[Scanner], object], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(Scanner("it", text))
    assert caught.value.what == message


def test_words_and_choices() -> None:
    scanner = Scanner("it", " ab_1-c core")
    assert scanner.word() == "ab_1" and scanner.word() == "" and scanner.word(r"-\w") == "-c"
    assert scanner.choice(["Core", "die"], "a kind") == "Core" and scanner.done
    assert Scanner("it", "_x1").word() == "_x1" and Scanner("it", "1x").word() == ""


def test_what_no_shell_passes_on_is_refused() -> None:
    assert Scanner("it", "x" * LONGEST).peek() == "x"
    with pytest.raises(InputError) as caught:
        Scanner("it", "x" * (LONGEST + 1))
    assert (caught.value.what, caught.value.hint) == (
        "it is 1048577 characters long",
        "1048576 is the most that is read",
    )
