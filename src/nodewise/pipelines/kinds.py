# SPDX-License-Identifier: BSD-3-Clause
"""The kinds of devices: which keys each has, what they may be, and whether it may have channels into it and out of it."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.units import parse_bytes, parse_seconds

#: The largest message, less what stands before its content.
MOST_BYTES = (1 << 31) - 64
ALGORITHMS = ("crc32", "sha256", "blake2b")
CODECS = ("gzip", "bz2", "xz")
ORDERS = ("arrival", "sequence")


class UnfitError(Exception):
    """A value that cannot be; its text says what is needed."""


@dataclass(frozen=True)
class DeviceKind:
    """`keys` by name with what reads the value (UnfitError, InputError), `defaults` of those that may be left out; `into` and `out`: whether channels may lead there (None: as one likes)."""

    about: str
    into: bool | None
    out: bool | None
    keys: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)


def size(value: Any) -> int:
    """A number of bytes, given as one or with a unit."""
    needed = UnfitError('a size above zero is needed, such as "24MB"')
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise needed
    try:
        found = value if isinstance(value, int) else parse_bytes(value, "size")
    except InputError as problem:
        raise needed from problem
    if found < 1:
        raise needed
    return found


def _message(value: Any) -> int:
    if (found := size(value)) > MOST_BYTES:
        raise UnfitError("a message has less than 2 GiB")
    return found


def count(value: Any) -> int:
    """A whole number from 1."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 1 << 62:
        raise UnfitError("a whole number from 1 is needed")
    return value


def seconds(value: Any) -> float:
    """A time, given as a number of seconds or with a unit."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise UnfitError('a time is needed, such as "10s"')
    return parse_seconds(value if isinstance(value, str) else repr(value))


def _rate(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e12:
        raise UnfitError("a number of messages per second above zero is needed")
    return float(value)


def text(value: Any) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value or "\0" in value:
        raise UnfitError("a text is needed")
    return value


def _one_of(*known: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in known:
            raise UnfitError(f"one of {', '.join(known)} is needed")
        return str(value)

    return read


def _level(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 9:
        raise UnfitError("a level from 1 (fast) to 9 (small) is needed")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise UnfitError("true or false is needed")
    return value


def _call(value: Any) -> str:
    if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", text(value)):
        raise UnfitError('a function is needed, such as "my_module:my_function"')
    return str(value)


def _arguments(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UnfitError("a table of keyword arguments is needed")
    try:
        json.dumps(value)
    except (TypeError, RecursionError) as problem:
        raise UnfitError("texts, numbers, lists and tables of them are needed") from problem
    return value


def _command(value: Any) -> list[str]:
    try:
        words = shlex.split(text(value))
    except ValueError as problem:
        raise UnfitError(f"a command is needed ({problem})") from problem
    if not words or shutil.which(words[0]) is None:
        raise InputError(
            f"there is no program {words[0] if words else ''!r}", "give its path, or a name that is found on PATH"
        )
    return words


KINDS: dict[str, DeviceKind] = {
    "generator": DeviceKind(
        "makes messages of one size, each with other content",
        False,
        True,
        {"size": _message, "count": count, "duration": seconds, "rate": _rate},
        {"size": 24_000_000, "count": None, "duration": None, "rate": None},
    ),
    "checksum": DeviceKind(
        "gives messages a checksum, and verifies those that have one",
        True,
        True,
        {"algorithm": _one_of(*ALGORITHMS)},
        {"algorithm": "crc32"},
    ),
    "compress": DeviceKind(
        "compresses messages",
        True,
        True,
        {"codec": _one_of(*CODECS), "level": _level},
        {"codec": "gzip", "level": 1},
    ),
    "decompress": DeviceKind("brings back what was compressed", True, True),
    "merge": DeviceKind("makes one stream of several", True, True, {"order": _one_of(*ORDERS)}, {"order": "arrival"}),
    "command": DeviceKind("hands each message to a command, and on what that prints", True, True, {"run": _command}),
    "python": DeviceKind(
        "a function of yours",
        None,
        None,
        {"call": _call, "arguments": _arguments},
        {"arguments": {}},
    ),
    "file": DeviceKind(
        "writes the content of messages to a file",
        True,
        False,
        {"path": text, "overwrite": _flag},
        {"overwrite": False},
    ),
    "discard": DeviceKind("counts messages and drops them", True, False),
}
