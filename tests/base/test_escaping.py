# SPDX-License-Identifier: BSD-3-Clause
"""Texts of others: what a terminal would act upon is shown, and all else stays."""

import pytest

from nodewise.base.escaping import SHOWN, escaped, escaped_all, harmless, painted, unmarked, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 😀", "plain é 😀"),
        ("a\udcffb\ud800", "a\\xffb\\ud800"),
        ("a\tb\n\x1b[31m\x7f\x9f", "a\\x09b\\x0a\\x1b[31m\\x7f\\x9f"),
        ("\u0100\u200b\u202e\ufeff\xa0", "\u0100\\u200b\\u202e\\ufeff\xa0"),
    ],
)
def test_a_text_in_one_line_can_only_be_read(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_our_colours_and_line_ends_stay_where_a_terminal_obeys() -> None:
    assert harmless("x\r\n\ty") == "x\r\n\ty"
    assert harmless("\x1b[1;31mx\x1b[0m") == "\\x1b[1;31mx\\x1b[0m"
    assert harmless(painted("x", "1;31")) == painted("x", "1;31")
    assert unmarked(painted("x", "1;31")) == "\x1b[1;31mx\x1b[0m"
    assert harmless("\x1b]0;t\x07\ra\x1b[2J\u202e") == "\\x1b]0;t\\x07\\ra\\x1b[2J\\u202e"


def test_names_and_lists_are_escaped_with_what_is_in_them() -> None:
    assert escaped_all({"\udcfe": ["\udcff", 1, ("x\udc80",)], 2: None}) == {"\\xfe": ["\\xff", 1, ["x\\x80"]], 2: None}
    assert escaped("\udcff".encode("utf-8", "surrogateescape").decode("latin-1")) == "ÿ"


def test_an_encoding_that_lacks_a_character_shows_it() -> None:
    assert (
        "a\udcff€".encode("ascii", SHOWN) == rb"a\xff\u20ac" and "é\udcff".encode("utf-8", SHOWN) == "é\\xff".encode()
    )
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("utf-8", SHOWN)


@pytest.mark.parametrize(("text", "shown"), [("a\U000e0041", "a\\U000e0041"), ("\u061cb", "\\u061cb")])
def test_what_is_not_seen_is_named(text: str, shown: str) -> None:
    assert visible(text) == shown
