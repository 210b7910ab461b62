# SPDX-License-Identifier: BSD-3-Clause
"""Texts are split as a shell splits them, or it is said why not."""

import re

import pytest

from nodewise.base.errors import InputError
from nodewise.base.words import LONGEST_WORD, split_words


def test_quotes_and_backslashes_are_a_shells() -> None:
    assert split_words("a 'b c' \"d e\" f\\ g ''") == ["a", "b c", "d e", "f g", ""]
    assert split_words("") == []


@pytest.mark.parametrize("text", ["a 'b", 'a "b', "a\\"])
def test_what_is_not_closed_is_named_by_its_place(text: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"--where: {text!r} cannot be split into words: no ")):
        split_words(text, "--where")
    with pytest.raises(InputError, match=f"^{re.escape(repr(text))}"):
        split_words(text)


def test_a_word_that_no_system_takes_is_refused_and_many_short_ones_are_not() -> None:
    assert len(split_words(f"{'ab' * 50} " * 1400)) == 1400 > LONGEST_WORD / 101
    with pytest.raises(InputError, match=r"^numactl: a word is longer than 128 KiB"):
        split_words("a " + "x" * (LONGEST_WORD + 1), "numactl")
    with pytest.raises(InputError, match=r"^a word is longer than 128 KiB"):
        split_words("x" * 1_000_000)
