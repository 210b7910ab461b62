# SPDX-License-Identifier: BSD-3-Clause
"""Read the catalogue's files, and refuse what is wrong in them with the file and the key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

from nodewise.base.bounded_json import read_bounded
from nodewise.base.errors import InputError
from nodewise.tuning.catalogue.knob import DEFAULT, FORMS, UNSET, WITHIN, Choice, Follower, Knob, Library, Setter

#: The files that come with nodewise.
OWN_FOLDER = Path(__file__).parent
_LONGEST = 1 << 20
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ADDRESS = re.compile(r"https?://\S+")
_PARALLEL = ("", "threads", "ranks")


class _Table:
    """A table of a file: gives out its keys by type, and names those that are wrong, missing or unknown."""

    def __init__(self, file: Path, where: str, data: object):
        self._file, self._where = file, where
        if not isinstance(data, Mapping):
            raise self.wrong("", "must be a table")
        self._data: Mapping[str, Any] = data
        self._asked: set[str] = set()

    def wrong(self, key: str, what: str) -> InputError:
        place = " ".join(p for p in (self._where, key) if p) or "it"
        return InputError(f"{self._file}: {place} {what}", f"the keys are explained in {OWN_FOLDER / 'README.md'}")

    def get(self, key: str, kind: type | tuple[type, ...], default: Any = None) -> Any:
        self._asked.add(key)
        if key not in self._data:
            if default is None:
                # a key that is none may be this one, misspelt
                near = get_close_matches(key, set(self._data) - self._asked, 1)
                raise self.wrong(key, f"is missing; {near[0]} is no key that is known here" if near else "is missing")
            return default
        value = self._data[key]
        # true and false are numbers to Python
        if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
            names = {
                str: "a text",
                int: "a whole number",
                bool: "true or false",
                list: "a list",
                (int, float): "a number",
            }
            raise self.wrong(key, f"must be {names[kind]}, not {value!r}")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        value = str(self.get(key, str, default))
        if default is None and not value.strip():
            raise self.wrong(key, "is empty")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        values = self.get(key, list, [])
        if not all(isinstance(v, str) and v for v in values):
            raise self.wrong(key, "must be a list of texts")
        return tuple(values)

    def tables(self, key: str) -> Iterable[_Table]:
        for i, entry in enumerate(self.get(key, list, [])):
            name = entry.get("name", entry.get("variable", i + 1)) if isinstance(entry, Mapping) else i + 1
            yield _Table(self._file, f"{self._where} {key} {name}".strip(), entry)

    def matching(self, key: str, pattern: re.Pattern[str], what: str) -> str:
        value = self.text(key)
        if not pattern.fullmatch(value):
            raise self.wrong(key, f"must be {what}, not {value!r}")
        return value

    def one_of(self, key: str, values: Sequence[str]) -> str:
        value = self.text(key, values[0])
        if value not in values:
            raise self.wrong(key, f"must be one of {', '.join(v or 'nothing' for v in values)}, not {value!r}")
        return value

    def pattern(self, key: str) -> str:
        value = self.text(key, "")
        try:
            re.compile(value)
        except re.error as problem:
            raise self.wrong(key, f"is no regular expression: {problem}") from problem
        return value

    def finish(self) -> None:
        unknown = sorted(set(self._data) - self._asked)
        if unknown:
            raise self.wrong(unknown[0], "is no key that is known here")


def _setter(table: _Table) -> Setter:
    setter = Setter(
        table.matching("variable", _VARIABLE, "the name of a variable"),
        table.one_of("form", FORMS),
        table.text("part", ""),
        table.pattern("replaces"),
    )
    if setter.form in ("tunable", "conf", "debug") and not setter.part:
        raise table.wrong("part", f"is missing, which form {setter.form!r} takes")
    if setter.form in ("options", "preload") and not setter.replaces:
        raise table.wrong("replaces", f"is missing, which form {setter.form!r} takes")
    return setter


def _choices(table: _Table) -> tuple[Choice, ...]:
    found: list[Choice] = []
    for i, entry in enumerate(table.get("values", list)):
        if isinstance(entry, str):
            found.append(Choice(entry, entry))
            continue
        one = _Table(table._file, f"{table._where} value {i + 1}", entry)
        name = one.text("is")
        text, needs, meaning = one.text("set", name), one.texts("needs"), one.text("meaning", "")
        grows = float(one.get("grows", (int, float), 1.0))
        helps, risk = (one.text(key) if key in entry else None for key in ("helps", "risk"))
        source = one.matching("source", _ADDRESS, "an address on the web") if "source" in entry else None
        found.append(Choice(name, text, needs, meaning, one.texts("spellings"), grows, helps, risk, source))
        one.finish()
    names = [c.name for c in found]
    if not names or len(set(names)) != len(names) or {DEFAULT, UNSET} & set(names) or not all(names):
        raise table.wrong("values", f"must be different texts, and none of them {DEFAULT!r} or {UNSET!r}")
    return tuple(found)


def _knob(table: _Table, library: str, title: str, time: tuple[str, ...]) -> Knob:
    worth = table.get("worth", int)
    if not 0 <= worth <= 100:
        raise table.wrong("worth", f"must be from 0 to 100, not {worth}")
    knob = Knob(
        name=table.matching("name", _NAME, "words in small letters with - between"),
        library=library,
        title=title,
        setter=_setter(table),
        choices=_choices(table),
        meaning=table.text("meaning"),
        helps=table.text("helps"),
        source=table.matching("source", _ADDRESS, "an address on the web"),
        usual=table.text("usual"),
        risk=table.text("risk", ""),
        exact=table.get("exact", bool),
        parallel=table.one_of("parallel", _PARALLEL),
        worth=worth,
        ask=table.texts("ask"),
        also=table.texts("also"),
        vendors=table.texts("vendors"),
        imports=table.pattern("imports"),
        time=table.texts("time") or time,
        arguments=table.pattern("arguments"),
        without=table.texts("without"),
        huge_pages=table.texts("huge_pages"),
    )
    if not knob.ask and any(c.spellings for c in knob.choices):
        raise table.wrong("ask", "is missing, without which nobody knows which spelling holds")
    if not knob.exact and not knob.risk:
        raise table.wrong("risk", "is missing, though the knob is not exact")
    table.finish()
    return knob


def _follower(table: _Table, library: str) -> Follower:
    follower = Follower(
        library=library,
        setter=_setter(table),
        follows=table.matching("follows", _NAME, "the name of an axis"),
        template=table.text("template", "{n}"),
        meaning=table.text("meaning"),
        source=table.matching("source", _ADDRESS, "an address on the web"),
        reads=table.text("reads", ""),
        counts_mask=table.get("counts_mask", bool, False),
    )
    if "{n}" not in follower.template:
        raise table.wrong("template", "must hold {n}, the axis's number")
    table.finish()
    return follower


def read_library(file: Path) -> Library:
    """The library that a file describes. Raises InputError, with the file and the key, where something in it is wrong."""
    try:
        data = tomllib.loads(read_bounded(file, _LONGEST).decode("utf-8-sig"))
    except OSError as problem:
        raise InputError(f"cannot read {file}: {problem.strerror}") from problem
    except ValueError as problem:
        raise InputError(f"{file} is not valid TOML: {problem}") from problem
    table = _Table(file, "", data)
    name = table.matching("name", _NAME, "words in small letters with - between")
    title = table.text("title")
    files = table.texts("files")
    time = table.texts("time") or files or (WITHIN,)
    library = Library(
        name=name,
        title=title,
        about=table.text("about"),
        source=table.matching("source", _ADDRESS, "an address on the web"),
        files=files,
        marks=table.texts("marks"),
        marks_anywhere=table.get("marks_anywhere", bool, False),
        words=table.texts("words"),
        time=time,
        unless=table.texts("unless"),
        preloads=table.texts("preloads"),
        ask_version=table.texts("ask_version"),
        knobs=tuple(_knob(t, name, title, time) for t in table.tables("knob")),
        followers=tuple(_follower(t, name) for t in table.tables("follower")),
    )
    if not (library.files or library.marks or library.words):
        raise table.wrong("files", "is missing, and so are marks and words: nothing shows that the library is loaded")
    table.finish()
    return library


@lru_cache(maxsize=8)
def _read_folder(folder: Path) -> tuple[Library, ...]:
    try:
        files = sorted(p for p in folder.iterdir() if p.suffix == ".toml")
    except OSError as problem:
        raise InputError(f"cannot read the catalogue's folder {folder}: {problem.strerror}") from problem
    return tuple(read_library(f) for f in files)


def load_catalogue(folders: Iterable[Path] = ()) -> tuple[Library, ...]:
    """nodewise's own catalogue with that of `folders`: a library there takes the place of one of the same name.

    Raises InputError where a file is wrong, or two libraries have a knob of one name.
    """
    found: dict[str, Library] = {}
    for folder in (OWN_FOLDER, *folders):
        found |= {library.name: library for library in _read_folder(Path(folder))}
    owners: dict[str, str] = {}
    for library in found.values():
        for knob in library.knobs:
            other = owners.setdefault(knob.name, library.name)
            if other != library.name:
                raise InputError(f"the knob {knob.name} is in {other} and in {library.name}", "give one another name")
    return tuple(found.values())
