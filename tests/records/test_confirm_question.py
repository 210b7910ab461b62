# SPDX-License-Identifier: BSD-3-Clause
"""The question of a confirmation: its promise is of two of its commands."""

import pytest

from nodewise.base.shapes import ShapeError
from nodewise.records.kinds.confirm import KIND


def _question(one: str, other: str, *names: str) -> dict[str, object]:
    return {"contenders": [{"name": name} for name in names], "promise": {"one": one, "other": other}}


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a"), ("a", "b", "c")])
def test_a_promise_of_commands_that_ran_is_taken(names: tuple[str, ...]) -> None:
    assert KIND.check is not None
    KIND.check(_question("a", "b", *names))


@pytest.mark.parametrize(("one", "other"), [("a", "x"), ("x", "b"), ("x", "y")])
def test_a_promise_of_another_command_is_refused(one: str, other: str) -> None:
    assert KIND.check is not None
    with pytest.raises(ShapeError, match="promise"):
        KIND.check(_question(one, other, "a", "b"))


def test_commands_of_one_name_are_refused() -> None:
    assert KIND.check is not None
    with pytest.raises(ShapeError, match="contenders"):
        KIND.check(_question("a", "a", "a", "a"))
