# SPDX-License-Identifier: BSD-3-Clause
"""Frozen dataclasses that are quick to define: those of the standard library, with methods made of closures.

The standard library compiles six methods for each frozen class, which was a fifth of the time that a command took to
start. Of these, `__eq__`, `__hash__` and `__repr__` need no source text of their own. They do what those of Python 3.11 and
3.12 do: fields are compared as a tuple (from 3.13 on the standard library compares one by one, so that nan differs from itself).
"""

from __future__ import annotations

import dataclasses
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass  # noqa: TID251

__all__ = ["dataclass"]

_Class = TypeVar("_Class", bound=type)


def _values(names: list[str]) -> Callable[[object], tuple[Any, ...]]:
    """What gives an object's attributes of these names as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda one: tuple(getattr(one, name) for name in names)


def _with_methods(made: _Class) -> _Class:
    """A dataclass with `__eq__`, `__hash__` and `__repr__` of its fields, but those that it defines itself."""
    fields = dataclasses.fields(made)
    shown = [field.name for field in fields if field.repr]
    compared = _values([field.name for field in fields if field.compare])
    hashed = _values([field.name for field in fields if (field.compare if field.hash is None else field.hash)])

    @recursive_repr()
    def in_words(self: object) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def same(self: object, other: object) -> bool:
        return compared(self) == compared(other) if type(other) is type(self) else NotImplemented

    def hash_of(self: object) -> int:
        return hash(hashed(self))

    own = set(vars(made))
    if "__eq__" in own and vars(made).get("__hash__") is None:
        # Python's doing, for a class that defines __eq__ alone
        own.discard("__hash__")
    for name, method in (("__repr__", in_words), ("__eq__", same), ("__hash__", hash_of)):
        if name not in own:
            method.__name__, method.__qualname__, method.__module__ = (
                name,
                f"{made.__qualname__}.{name}",
                made.__module__,
            )
            setattr(made, name, method)
    return made


if not TYPE_CHECKING:

    def dataclass(made: type | None = None, /, *, frozen: bool = False, **options: bool):
        """As `dataclasses.dataclass`. Takes no `eq`, `repr` or `order` where the class is frozen."""
        if not frozen:
            return dataclasses.dataclass(made, **options)  # noqa: TID251

        def frozen_class(one: type) -> type:
            made_frozen = dataclasses.dataclass(frozen=True, eq=False, repr=False, **options)  # noqa: TID251
            return _with_methods(made_frozen(one))

        return frozen_class if made is None else frozen_class(made)
