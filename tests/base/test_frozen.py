# SPDX-License-Identifier: BSD-3-Clause
"""Frozen dataclasses of the house do what those of the standard library do."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.base.frozen import dataclass

Maker = Callable[[type], Any]


def _none(make: Maker) -> Any:
    class Nothing:
        """Without fields."""

    return make(Nothing)


def _one(make: Maker) -> Any:
    class One:
        """Of one field."""

        first: Any = 0

    return make(One)


def _several(make: Maker) -> Any:
    class Several:
        """Of fields that are not all compared, hashed or shown."""

        first: Any = 0
        second: Any = field(default=0, compare=False)
        third: Any = field(default=0, repr=False)
        fourth: Any = field(default=0, hash=False)

    return make(Several)


def _own(make: Maker) -> Any:
    class Own:  # noqa: PLW1641
        """With methods of its own."""

        first: Any = 0

        def __eq__(self, other: object) -> bool:
            return isinstance(other, int)

        def __repr__(self) -> str:
            return "mine"

    return make(Own)


def _hashed(make: Maker) -> Any:
    class Hashed:
        """With a hash of its own."""

        first: Any = 0

        def __hash__(self) -> int:
            return 7

    return make(Hashed)


def _unhashable(make: Maker) -> Any:
    class Unhashable:
        """Without a hash."""

        __hash__ = None  # type: ignore[assignment]
        first: Any = 0

    return make(Unhashable)


CLASSES = (_none, _one, _several, _own, _hashed, _unhashable)
#: What is equal without being the same, what is not equal to itself, and what has no hash.
VALUES = st.sampled_from([0, 0.0, 1, "a", (), (1,), float("nan"), None]) | st.builds(list)


@dataclass(frozen=True)
class Kept:
    """What a process hands to another."""

    one: int
    many: tuple[int, ...] = ()


def _what(ask: Callable[[], object]) -> object:
    """What a question is answered, or how it fails."""
    try:
        return ask()
    except Exception as problem:
        return type(problem)


@pytest.mark.parametrize("written", CLASSES)
@given(data=st.data())
def test_they_compare_hash_and_show_as_the_standard_librarys(written, data):
    classes = [written(one) for one in (dataclass(frozen=True), dataclasses.dataclass(frozen=True))]
    names = [each.name for each in fields(classes[0])]
    values = [[data.draw(VALUES) for _ in names] for _ in range(2)]
    (first, second), (first_there, _) = [[made(*row) for row in values] for made in classes]
    compared = [tuple(getattr(one, each.name) for each in fields(one) if each.compare) for one in (first, second)]
    own = "__eq__" in vars(written(lambda made: made))
    # as up to Python 3.12
    assert (first == second) is (False if own else compared[0] == compared[1])
    assert (first != 0) is (first_there != 0)
    assert _what(lambda: hash(first)) == _what(lambda: hash(first_there))
    assert repr(first) == repr(first_there)


def test_an_object_of_another_class_is_another():
    @dataclass(frozen=True)
    class Under(Kept):
        """As Kept."""

    assert Kept(1) != Under(1)
    assert Under(1) == Under(1)
    assert Kept(1).__eq__(1) is NotImplemented


def test_what_holds_itself_can_be_shown():
    many: list[object] = []
    one = _one(dataclass(frozen=True))(many)
    many.append(one)
    assert repr(one).endswith("(first=[...])")


def test_they_are_dataclasses_and_frozen():
    one = Kept(1)
    with pytest.raises(FrozenInstanceError):
        one.one = 2
    with pytest.raises(FrozenInstanceError):
        del one.one
    assert replace(one, many=(3,)) == Kept(1, (3,))
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one
    assert list(inspect.signature(Kept).parameters) == ["one", "many"]
    assert Kept.__match_args__ == ("one", "many")


def test_options_are_the_standard_librarys():
    @dataclass(frozen=True, kw_only=True, slots=True)
    class Slots:
        """In slots, by name."""

        one: int

    assert Slots(one=1) == Slots(one=1)
    assert not hasattr(Slots(one=1), "__dict__")
    with pytest.raises(TypeError):
        Slots(1)


def test_one_that_is_not_frozen_is_the_standard_librarys():
    @dataclass
    class Open:
        """May be changed."""

        one: int = 0

    @dataclass(order=True)
    class Ordered:
        """Has an order."""

        one: int = 0

    opened = Open()
    opened.one = 5
    assert opened == Open(5)
    assert Open.__hash__ is None
    assert Ordered(1) < Ordered(2)
