# SPDX-License-Identifier: BSD-3-Clause
"""What a caller gives to a public function, checked against the function's annotations before anything is done with it."""

from __future__ import annotations

import contextlib
import functools
import inspect
import numbers
import operator
import os
import re
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MappingView, Sequence, Set
from datetime import timedelta
from typing import Any, ParamSpec, TypeVar

from nodewise.base.errors import InputError
from nodewise.base.lists import listed
from nodewise.base.units import MOST_WHOLE

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")
#: More than anybody lists; what never ends is not listed for ever.
_LONGEST_LIST = 100_000
_LONGEST_SHOWN = 60
#: Bytes of a file's name on any system of Linux.
_LONGEST_NAME = 255
#: What may be given for a path alone.
_PATHS = frozenset((str, os.PathLike[str], type(None)))
#: One of a kind, and several.
_PLAIN = {
    bool: ("True or False", "True or False"),
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    str: ("a text", "texts"),
    timedelta: ("a timedelta", "timedeltas"),
    type(None): ("None", "None"),
    object: ("anything", "anything"),
}


class _UnfitError(Exception):
    """A value is not of the kind that is expected; `where` leads to it inside of the argument."""

    def __init__(self, value: object, expected: Any, where: str, what: str = "", hint: str = ""):
        super().__init__(what)
        self.value, self.expected, self.where, self.what, self.hint = value, expected, where, what, hint


@functools.cache
def keywords_of(function: Callable[..., Any]) -> Mapping[str, Any]:
    """By name what each argument of a function may be, those of its `**keywords: Unpack[…]` with the others."""
    hints = typing.get_type_hints(inspect.unwrap(function))
    hints.pop("return", None)
    found: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            if typing.get_origin(hints[name]) is typing.Unpack:
                found |= typing.get_type_hints(typing.get_args(hints[name])[0])
        else:
            # of a method the object itself is what it is
            found[name] = hints.get(name, Any)
    return found


def checked(function: Callable[_Given, _Answer]) -> Callable[_Given, _Answer]:
    """A function whose arguments are checked before anything is done: `checked_arguments`."""

    @functools.wraps(function)
    def asked(*args: _Given.args, **kwargs: _Given.kwargs) -> _Answer:
        bound = checked_arguments(function, args, kwargs)
        return function(*bound.args, **bound.kwargs)

    return asked


def checked_arguments(
    function: Callable[..., Any], args: Sequence[object], kwargs: Mapping[str, object], texts: Collection[str] = ()
) -> inspect.BoundArguments:
    """The arguments of a call, lists among them as tuples. `texts` are names of further keywords, each a text.

    Raises InputError for an argument that is not of the annotated kind, one that is missing, and a keyword that there is not.
    """
    known = keywords_of(function)
    method = "." in function.__qualname__ and "<locals>" not in function.__qualname__
    name = function.__qualname__ if method else f"nodewise.{function.__name__}"
    signature = inspect.signature(function)
    by_position = [p.name for p in signature.parameters.values() if p.kind is p.VAR_POSITIONAL]
    usable = [keyword for keyword in (*known, *texts) if keyword not in by_position]
    for keyword in kwargs:
        if keyword in by_position:
            raise InputError(f"{name} has no keyword {keyword!r}", f"give {keyword} by position, one after the other")
        if keyword not in usable:
            raise InputError(f"{name} has no keyword {keyword!r}", _meant(keyword, usable))
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as problem:
        raise InputError(f"{name}: {problem}", _how_to_call(signature)) from problem
    for parameter in signature.parameters.values():
        if parameter.name not in bound.arguments:
            continue
        given = bound.arguments[parameter.name]
        if parameter.kind is parameter.VAR_KEYWORD:
            bound.arguments[parameter.name] = {n: _fitted(n, v, known.get(n, str)) for n, v in given.items()}
        elif parameter.kind is parameter.VAR_POSITIONAL:
            one = parameter.name.removesuffix("s")
            kind = known[parameter.name]
            bound.arguments[parameter.name] = tuple(_fitted(f"{one} {i + 1}", v, kind) for i, v in enumerate(given))
        else:
            bound.arguments[parameter.name] = _fitted(parameter.name, given, known[parameter.name])
    return bound


def _how_to_call(signature: inspect.Signature) -> str:
    by_position = [p.name for p in signature.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    return f"by position comes {listed(by_position) or 'nothing'}; all else is given as keyword=value"


def _meant(keyword: str, known: Sequence[str]) -> str:
    plain = [n for n in known if n.rstrip("s") == keyword.rstrip("s")]
    import difflib

    near = plain or difflib.get_close_matches(keyword, known, 1, 0.7)
    return f"did you mean {near[0]}?" if near else f"its keywords are {', '.join(known)}"


def _fitted(name: str, value: object, kind: Any) -> Any:
    try:
        return _fit(value, kind, "")
    except _UnfitError as problem:
        what = problem.what or f"{shown_value(problem.value)} is not {_expected(problem.expected)}"
        hint = problem.hint.replace("NAME", name) or f"such as {name}={_example(kind)}"
        raise InputError(f"{name}{problem.where}: {what}", hint) from None


def _fit(value: Any, kind: Any, where: str) -> Any:
    """The value as the function is to have it. Raises _UnfitError."""
    origin = typing.get_origin(kind)
    if kind is Any or kind is object:
        return _bounded(value, where) if isinstance(value, int) else value
    if origin in (typing.Union, types.UnionType):
        return _fit_union(value, kind, where)
    if origin is re.Pattern:
        if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
            return value
        raise _UnfitError(value, kind, where)
    if origin is os.PathLike or kind is os.PathLike:
        return _path(value, kind, where)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(value, kind, where)
    if origin is not None and issubclass(origin, Callable):  # type: ignore[arg-type]
        return _function(value, kind, where)
    if origin is not None and issubclass(origin, Iterable):
        return _list(value, kind, where)
    return _plain(value, kind, where)


def _fit_union(value: Any, kind: Any, where: str) -> Any:
    """The first of several kinds that a value is of; what is said of it is what the nearest kind says."""
    problems = []
    # a number is a number before it is anything else, and a text no list
    for one in typing.get_args(kind):
        try:
            found = _fit(value, one, where)
        except _UnfitError as problem:
            problems.append(problem)
        else:
            # in a list they are words of a command, which may be of any length and empty
            if not where and os.PathLike[str] in typing.get_args(kind) and _PATHS.issuperset(typing.get_args(kind)):
                _check_path(found, kind, where)
            return found
    if isinstance(value, str) and str not in typing.get_args(kind):
        # of a text where a list is expected more can be said
        problems = [p for p in problems if p.hint] or problems
    inner = max(problems, key=lambda p: (len(p.where), bool(p.what)))
    raise inner if inner.where != where or inner.what else _UnfitError(value, kind, where)


def _plain(value: Any, kind: Any, where: str) -> Any:
    if kind is type(None):
        if value is None:
            return None
    elif kind is bool:
        if isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b":
            return bool(value)
    elif kind is int:
        if isinstance(value, numbers.Integral) and not isinstance(value, bool):
            with contextlib.suppress(TypeError):
                # of numpy's durations it is refused
                return _bounded(operator.index(value), where)
    elif kind is float:
        if isinstance(value, numbers.Real) and not isinstance(value, bool):
            return _bounded(value, where) if isinstance(value, int | float) else _number(value, where)
    elif kind is str:
        if isinstance(value, str):
            return _text(value, where)
    elif isinstance(value, kind):
        return value
    raise _UnfitError(value, kind, where)


def _bounded(value: Any, where: str) -> Any:
    """A number as it is. Raises _UnfitError for a whole one of more than anything has, which others cannot convert."""
    if isinstance(value, int) and abs(value) > MOST_WHOLE:
        raise _UnfitError(
            value,
            int,
            where,
            f"a whole number of {value.bit_length()} bits is beyond ±{MOST_WHOLE}",
            "give a smaller one",
        )
    return value


def _number(value: Any, where: str) -> float:
    try:
        return float(value)
    except (ValueError, OverflowError, TypeError):
        raise _UnfitError(value, float, where) from None


def _text(value: str, where: str) -> str:
    if "\0" in value:
        raise _UnfitError(
            value, str, where, f"{shown_value(value)} holds a NUL, which nothing of the system takes", "leave it out"
        )
    try:
        os.fsencode(value)
    except UnicodeError:
        raise _UnfitError(
            value, str, where, f"{shown_value(value)} is no text that the system can be given", "give plain text"
        ) from None
    return value


def _path(value: Any, kind: Any, where: str) -> Any:
    if not isinstance(value, os.PathLike):
        raise _UnfitError(value, kind, where)
    if not isinstance(text := os.fspath(value), str):
        raise _UnfitError(value, kind, where)
    _text(text, where)
    return value


def _check_path(value: Any, kind: Any, where: str) -> None:
    if value is not None and not os.fspath(value):
        raise _UnfitError(value, kind, where, "it is empty, and names nothing", "leave it out, or name one")
    if value is not None and any(len(os.fsencode(part)) > _LONGEST_NAME for part in os.fspath(value).split("/")):
        raise _UnfitError(
            value, kind, where, f"{shown_value(value)} is longer than a file's name may be", "give a shorter one"
        )


def _mapping(value: Any, kind: Any, where: str) -> dict[Any, Any]:
    if not isinstance(value, Mapping):
        raise _UnfitError(value, kind, where)
    keys, values = typing.get_args(kind)
    return {
        _fit(k, keys, f"{where}, a name in it"): _fit(v, values, f"{where}[{shown_value(k)}]") for k, v in value.items()
    }


def _list(value: Any, kind: Any, where: str) -> tuple[Any, ...]:
    (one,) = typing.get_args(kind)[:1]
    if isinstance(value, str):
        raise _UnfitError(
            value,
            kind,
            where,
            f"{shown_value(value)} is one text, and {_expected(kind)} is expected",
            _as_list(value, one, where),
        )
    ordered = issubclass(typing.get_origin(kind), Sequence)
    unfit = not isinstance(value, Iterable) or isinstance(value, bytes | bytearray | memoryview | Mapping)
    if ordered:
        # what is listed in no order, or only once, is not one
        unfit |= isinstance(value, Iterator) or (isinstance(value, Set) and not isinstance(value, MappingView))
    if unfit or getattr(value, "shape", (0,)) == ():
        raise _UnfitError(value, kind, where)
    found = []
    for i, part in enumerate(value):
        if i >= _LONGEST_LIST:
            raise _UnfitError(value, kind, where, f"it lists more than {_LONGEST_LIST}", "give fewer")
        found.append(_fit(part, one, f"{where}[{i}]"))
    return tuple(found)


def _as_list(value: str, one: Any, where: str) -> str:
    parts = [part.strip() for part in value.split(",") if part.strip()]
    texts = one is str or str in typing.get_args(one)
    return f"write it as NAME={parts or [value]}" if texts and not where else ""


def _function(value: Any, kind: Any, where: str) -> Any:
    if not callable(value):
        raise _UnfitError(value, kind, where)
    takes = typing.get_args(kind)[0]
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        # of some that are built in nothing is known
        return value
    try:
        signature.bind(*takes)
    except TypeError:
        count = {0: "no argument", 1: "one argument"}.get(len(takes), f"{len(takes)} arguments")
        hint = (
            "arguments go into functools.partial(function, …)"
            if not takes
            else f"it is called as NAME({_shown_type(takes[0])})"
        )
        raise _UnfitError(value, kind, where, f"{shown_value(value)} cannot be called with {count}", hint) from None
    return value


def _example(kind: Any) -> str:
    """A value of a kind, as it is written."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _example(next((p for p in parts if p in (int, float, str)), parts[0]))
    if origin is not None and issubclass(origin, Mapping):
        return f"{{'NAME': {_example(parts[1])}}}"
    if origin is not None and issubclass(origin, Callable):  # type: ignore[arg-type]
        return "function"
    if origin is not None and issubclass(origin, Iterable):
        return f"[{_example(parts[0])}]"
    return {bool: "True", int: "10", float: "1.5", str: "'…'"}.get(kind, f"{_shown_type(kind).lower()}")


def shown_value(value: object) -> str:
    """A value as it is written, shortened; of a type that shows itself badly its name alone."""
    try:
        text = getattr(value, "__qualname__", None) if callable(value) else None
        text = text if isinstance(text, str) else repr(value)
    except Exception:
        text = f"<{type(value).__name__}>"
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _shown_type(kind: Any) -> str:
    return str(getattr(kind, "__name__", kind))


def _expected(kind: Any, several: bool = False) -> str:
    """A kind in words."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        # a number may be whole, and what may be left out inside of a list is said of the list
        named = [p for p in parts if not ((p is int and float in parts) or (p is type(None) and several))]
        words = dict.fromkeys(_expected(p, several) for p in named)
        return listed(list(words), "or")
    if kind in _PLAIN:
        return _PLAIN[kind][several]
    if origin is re.Pattern:
        return "a compiled regular expression" if not several else "compiled regular expressions"
    if origin is os.PathLike or kind is os.PathLike:
        return "paths" if several else "a path"
    if origin is not None and issubclass(origin, Mapping):
        return f"a dictionary of {_expected(parts[1], True)} by name"
    if origin is not None and issubclass(origin, Callable):  # type: ignore[arg-type]
        return "functions" if several else "a function"
    if origin is not None and issubclass(origin, Iterable):
        return f"{'lists' if several else 'a list'} of {_expected(parts[0], True)}"
    return f"a nodewise.{_shown_type(kind)}"
