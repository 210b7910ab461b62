# SPDX-License-Identifier: BSD-3-Clause
"""History, from what is asked of it to the answer; and each experiment that ends is put into it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from nodewise.base.errors import InputError, NodewiseError, StoreError
from nodewise.base.note import Note
from nodewise.base.units import parse_seconds
from nodewise.history.database import REBUILD
from nodewise.history.place import OFF, VARIABLE, history_place
from nodewise.history.store import Store
from nodewise.history.trend import MOST_SERIES, Trends, trends_of

if TYPE_CHECKING:
    from nodewise.api.caller import Notify
    from nodewise.history.difference import Difference, Side
    from nodewise.history.entry import Entry
    from nodewise.history.fill import Filled
    from nodewise.machine.model import Machine
    from nodewise.records.earlier import Earlier
    from nodewise.runner.loaded import Loaded

# what reads experiments is imported where it is needed: a trend needs a database alone
_Answer = TypeVar("_Answer")


def remembered(answer: _Answer, folder: Path, note: Notify, verdict: Any = None) -> _Answer:
    """The answer of the experiment in a folder, which is put into history; where that fails a note says so, and nothing else.

    `verdict` is what was judged of its samples (None: it is kept in the folder).
    """
    if os.environ.get(VARIABLE) == OFF:
        return answer
    try:
        from nodewise.history.fill import remember
        from nodewise.records.experiment import read_experiment
        from nodewise.verdicts.stored import read_stored, stored

        remember(read_stored(folder) if verdict is None else stored(read_experiment(folder), verdict))
    except Exception as problem:
        # whatever it is, the experiment was made, and is the answer
        note(Note("warning", f"this experiment is not in the history: {_in_words(problem)}"))
    return answer


def known_of(
    command: Sequence[str], machine: Machine, metric: str, loaded: Loaded | None, note: Notify
) -> Sequence[Earlier]:
    """The earlier tunes that one of this command may start from; none where history is off, and where it cannot be read a note says so."""
    if os.environ.get(VARIABLE) == OFF:
        return ()
    try:
        from nodewise.history.recall import recalled

        place = history_place()
        return () if place is None else recalled(place, command, machine, metric, loaded)
    except Exception as problem:
        # whatever it is, the tune can do without
        note(Note("warning", f"this tune starts from nothing: {_in_words(problem)}"))
        return ()


def _in_words(problem: Exception) -> str:
    what = f"{type(problem).__name__}: {problem}"
    if isinstance(problem, NodewiseError):
        what = f"{problem.what} ({problem.hint})" if problem.hint else problem.what
    return " ".join(what.split())


def place_of(given: str | None) -> str:
    """Where history is: what is given, else what NODEWISE_HISTORY says, else the user's file. Raises InputError where it is off."""
    place = history_place(given)
    if place is None:
        raise InputError(
            f"history is turned off ({VARIABLE}=off)",
            "unset the variable, or name a file: nodewise history --store FILE",
        )
    return place


def since_of(text: str | None) -> float:
    """A day or a time in ISO 8601, or how long ago it was (`30d`, `12h`), in seconds since 1970. Raises InputError."""
    if text is None:
        return 0.0
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        if re.fullmatch(r"\s*[0-9.]+\s*", text):
            raise InputError(
                f"--since: {text!r} has no unit", f"write {text.strip()}d for days, or a day such as 2026-11-01"
            ) from None
        try:
            return time.time() - parse_seconds(text, "--since")
        except InputError as problem:
            raise InputError(
                f"--since: neither a day nor how long ago: {text!r}", "write it such as 2026-11-01 or 30d"
            ) from problem
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def ask_trends(
    place: str, program: str | None, since: str | None, machine: str | None, within: float, everything: bool
) -> Trends:
    """The trends of a program, or of all programs. Raises InputError and StoreError."""
    begin = since_of(since)
    with Store(place, make=False) as store:
        most = None if everything else MOST_SERIES
        return trends_of(store, program, since=begin, machine=machine, within=within, most=most)


def ask_difference(place: str, one: str, other: str, within: float) -> Difference:
    """Two experiments, each by its number in history or its folder. Raises InputError and StoreError."""
    from nodewise.history.difference import difference_of

    damaged: list[str] = []
    sides = [_side(place, asked, damaged) for asked in (one, other)]
    return replace(difference_of(sides[0], sides[1], within), damaged=tuple(dict.fromkeys(damaged)))


def _side(place: str, asked: str, damaged: list[str]) -> tuple[Side, Entry]:
    """An experiment; rows of it that cannot be used are added to `damaged`."""
    from nodewise.history.difference import side_of
    from nodewise.history.entries import read_entry

    plain = asked.removeprefix("#")
    if plain.isdecimal() and plain.isascii() and len(plain) < 19 and not Path(asked).exists():
        with Store(place, make=False) as store:
            entry: Entry | None = store.entry(int(plain))
            assert entry is not None
            if store.damaged and not entry.points:
                raise StoreError(f"nothing of experiment {plain} is whole: {'; '.join(store.damaged)}", REBUILD)
            damaged += store.damaged
            return side_of(f"#{plain}", int(plain), entry), entry
    entry = read_entry(Path(asked))
    if entry is None:
        raise InputError(f"nothing in {asked} is looked at over time", "name an experiment with measured runs")
    return side_of(asked, None, entry), entry


def ask_import(place: str, paths: Sequence[Path], machine: str | None) -> Filled:
    """Put in what files of other tools, and folders of experiments, hold; `machine` is where those files were made that do not say it.

    Raises InputError for a file that nobody can read, before anything is put in, and StoreError.
    """
    from nodewise.history.fill import fill

    left_out: list[str] = []
    entries = list(_entries(paths, machine, left_out))
    return fill(place, entries, left_out)


def _entries(paths: Iterable[Path], machine: str | None, left_out: list[str]) -> Iterator[Entry]:
    from nodewise.history.fill import read_folders
    from nodewise.history.read import read_files

    for path in paths:
        yield from read_files(path, machine, lambda folder: read_folders([folder], left_out))


def ask_rebuild(place: str, roots: Sequence[Path]) -> Filled:
    """Make history anew from folders of experiments. Raises InputError and StoreError."""
    from nodewise.history.fill import rebuild

    return rebuild(place, roots)
