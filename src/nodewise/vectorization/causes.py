# SPDX-License-Identifier: BSD-3-Clause
"""Causes: why loops are not vectorized, from a readable file, and which one a compiler's words mean."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from nodewise.base.bounded_json import read_bounded
from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass

UNKNOWN = "unknown"
_KEYS = {"name", "words", "gcc", "clang", "source", "openmp", "nest", "widens", "vague", "do", "risk"}


@dataclass(frozen=True)
class Cause:
    """One entry of the file; `nest` is for loops around others only, `openmp` for code in which OpenMP's directives count, and
    `vague` says less than another compiler may. `widens` is a note on what the machine code shows and no compiler says: that
    a loop makes doubles of floats."""

    name: str
    words: str
    gcc: tuple[re.Pattern[str], ...] = ()
    clang: tuple[re.Pattern[str], ...] = ()
    source: re.Pattern[str] | None = None
    openmp: bool = False
    nest: bool = False
    widens: bool = False
    vague: bool = False
    do: tuple[str, ...] = ()
    risk: str = ""


@dataclass(frozen=True)
class Found:
    """The cause of one loop, in words of its own; `message` is what the compiler said."""

    name: str
    words: str
    do: tuple[str, ...] = ()
    risk: str = ""
    message: str = ""
    vague: bool = False


@dataclass(frozen=True)
class Causes:
    """Why loops are not vectorized, and what is worth knowing of those that are."""

    missed: tuple[Cause, ...]
    notes: tuple[Cause, ...]


#: The longest file of causes.
_MOST_BYTES = 1 << 24


def load_causes(more: Iterable[Path] = ()) -> Causes:
    """Those of files of the user's own, which go first, and those that nodewise has. Raises InputError."""
    read = []
    for path in more:
        try:
            read.append(_read(read_bounded(path, _MOST_BYTES).decode("utf-8-sig"), str(path)))
        except (OSError, ValueError) as problem:
            raise InputError(
                f"cannot read {path}: {problem}", "--causes names a TOML file such as causes.toml"
            ) from problem
    read.append(_shipped())
    return Causes(tuple(c for r in read for c in r.missed), tuple(c for r in read for c in r.notes))


@cache
def _shipped() -> Causes:
    text = resources.files("nodewise.vectorization").joinpath("causes.toml").read_text()
    return _read(text, "causes.toml")


def _read(text: str, name: str) -> Causes:
    try:
        entries = tomllib.loads(text)
        if wrong := set(entries) - {"cause", "note"}:
            raise TypeError(f"it has {', '.join(sorted(wrong))}, which means nothing")
        return Causes(tuple(map(_cause, entries.get("cause", []))), tuple(map(_cause, entries.get("note", []))))
    except tomllib.TOMLDecodeError as problem:
        raise InputError(f"{name} is not valid TOML: {problem}", "see causes.toml, which nodewise ships") from problem
    except (KeyError, TypeError, AttributeError, re.error) as problem:
        raise InputError(
            f"{name}: a [[cause]] is wrong: {problem}", "see causes.toml, which nodewise ships"
        ) from problem


def _cause(entry: dict[str, Any]) -> Cause:
    unknown = set(entry) - _KEYS
    if unknown:
        raise TypeError(f"it has {', '.join(sorted(unknown))}, which means nothing")
    for name in ("gcc", "clang", "do"):
        if not isinstance(entry.get(name, []), list):
            raise TypeError(f"{name} is no list of texts: write {name} = [{json.dumps(entry[name], default=str)}]")
    source = entry.get("source")
    return Cause(
        name=str(entry["name"]),
        words=str(entry["words"]),
        gcc=tuple(re.compile(p) for p in entry.get("gcc", ())),
        clang=tuple(re.compile(p) for p in entry.get("clang", ())),
        source=re.compile(source) if source else None,
        openmp=bool(entry.get("openmp", False)),
        nest=bool(entry.get("nest", False)),
        widens=bool(entry.get("widens", False)),
        vague=bool(entry.get("vague", False)),
        do=tuple(str(d) for d in entry.get("do", ())),
        risk=str(entry.get("risk", "")),
    )


def find_cause(
    causes: Causes,
    kind: str,
    why: Sequence[str],
    body: str = "",
    nest: bool = False,
    named: str = "",
    openmp: bool = True,
) -> Found:
    """The first cause that matches one of the messages `why` of a compiler of this kind.

    `body` is the loop's own text, `named` the name that stands in it where the message points; `openmp` is whether it was
    compiled with -fopenmp, without which its directives bear on nothing.
    """
    for cause in causes.missed:
        if (cause.source is not None and not cause.source.search(body)) or (cause.nest and not nest):
            continue
        if cause.openmp and not openmp:
            continue
        if found := _matched(cause, kind, why, named):
            return found
    reason = "; ".join(why)
    return Found(
        UNKNOWN,
        f"the compiler says: {reason}" if reason else "the compiler does not say why",
        message=reason,
        vague=True,
    )


def find_notes(causes: Causes, kind: str, messages: Sequence[str]) -> tuple[Found, ...]:
    """What the notes on a vectorized loop mean; those that mean nothing to a reader are left out."""
    return tuple(found for note in causes.notes if (found := _matched(note, kind, messages, "")))


def find_widening(causes: Causes, body: str) -> tuple[Found, ...]:
    """Why a loop whose machine code makes doubles of floats does so, by its own text `body`; each note that fits."""
    fits = (note for note in causes.notes if note.widens and (note.source is None or note.source.search(body)))
    return tuple(Found(note.name, note.words, note.do, note.risk) for note in fits)


def _matched(cause: Cause, kind: str, messages: Sequence[str], named: str) -> Found | None:
    for pattern in cause.gcc if kind == "gcc" else cause.clang:
        for message in messages:
            if match := pattern.search(message):
                return Found(cause.name, _filled(cause.words, match, named), cause.do, cause.risk, message, cause.vague)
    return None


def _filled(words: str, match: re.Match[str], named: str) -> str:
    groups = {name: (value or "").strip() for name, value in match.groupdict().items()}
    if named and not groups.get("call"):
        groups["call"] = named
    return re.sub(r"\{(\w+)\}", lambda m: _SSA.sub("", groups.get(m[1]) or _ANYTHING.get(m[1], "it")), words)


#: What GCC adds to the name of a variable.
_SSA = re.compile(r"(?<=\w)_\d+$")
#: What stands where the compiler does not name it.
_ANYTHING = {"call": "a function", "distance": "some", "type": "a structure, or one of unusual size", "statement": ""}
