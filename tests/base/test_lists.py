# SPDX-License-Identifier: BSD-3-Clause
"""Lists in sentences and lines."""

from nodewise.base.lists import apart, listed


def test_parts_of_a_sentence() -> None:
    assert [listed(["a", "b", "c"][:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert listed(["a", "b"], "or") == "a or b"


def test_parts_that_hold_commas_are_kept_apart_by_something_else() -> None:
    assert apart(["1", "2"]) == "1, 2" and apart([]) == ""
    assert apart(["static", "static,16"]) == "static; static,16"
