# SPDX-License-Identifier: BSD-3-Clause
"""How history is filled: by each experiment at its end, and from folders of experiments at any time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError, NodewiseError
from nodewise.base.files import store_error
from nodewise.base.frozen import dataclass
from nodewise.history.entries import entry_of, folders_below, read_entry
from nodewise.history.entry import Entry
from nodewise.history.place import history_place, is_server
from nodewise.history.store import Store
from nodewise.verdicts.stored import Stored

OWN = "nodewise"


@dataclass(frozen=True)
class Filled:
    """What was put into the history at `place`: how many experiments, `replaced` of them in the place of the same, and what was left out,
    each with the reason.

    Of one that was made anew `gone` experiments are no more in it, as their folders were not found, and `kept_as` is the
    file that it was before (None: there was none, or it is a server's).
    """

    place: str
    experiments: int
    left_out: tuple[str, ...] = ()
    gone: int = 0
    kept_as: Path | None = None
    replaced: int = 0


def remember(read: Stored[Any]) -> None:
    """Put an experiment into the user's history, unless that is turned off. Raises NodewiseError."""
    place = history_place()
    if place is None or (entry := entry_of(read)) is None:
        return
    with Store(place) as store:
        store.add([entry])


def fill(place: str, entries: Iterable[Entry], left_out: Sequence[str] = ()) -> Filled:
    """Add entries; `left_out` may grow while they are read. Raises what `Store` and its `add` do."""
    with Store(place) as store:
        known, seen = store.keys().keys(), set()

        def noted() -> Iterator[Entry]:
            for one in entries:
                seen.add(one.key)
                yield one

        count = store.add(noted())
        return Filled(store.name, count, tuple(left_out), replaced=len(known & seen))


def rebuild(place: str, roots: Iterable[Path]) -> Filled:
    """Make history anew from folders; what came from other tools stays where the old one can be read.

    The old file is kept beside it. Raises InputError where a folder is not there, StoreError where it cannot be written.
    """
    left_out: list[str] = []
    found = list(read_folders(_checked(roots), left_out))
    known, others = _old(place, left_out)
    aside = None
    if is_server(place):
        with Store(place) as store:
            store.clear()
    elif Path(place).exists():
        aside = _put_aside(Path(place))
    filled = fill(place, [*found, *others], left_out)
    gone = len(known - {one.key for one in found})
    return replace(filled, experiments=len(found), gone=gone, kept_as=aside)


def _old(place: str, left_out: list[str]) -> tuple[set[str], list[Entry]]:
    """The keys of experiments, and the entries of other tools, that a history has; none of one that cannot be read.

    What of them is damaged is added to `left_out`.
    """
    try:
        with Store(place, make=is_server(place)) as store:
            found = {key for key, (tool, _) in store.keys().items() if tool == OWN}, store.entries(OWN)
            left_out += store.damaged
            return found
    except NodewiseError:
        if is_server(place):
            raise
        return set(), []


def _put_aside(path: Path) -> Path:
    """Give a file another name, and what SQLite keeps beside it."""
    aside = path.with_name(f"{path.name}.{datetime.now(UTC):%Y%m%d-%H%M%S}.old")
    try:
        path.replace(aside)
    except OSError as problem:
        raise store_error(path, problem) from problem
    # what another process was about to take back is none of the new file's
    with suppress(OSError):
        Path(f"{path}-journal").replace(f"{aside}-journal")
    return aside


def _checked(roots: Iterable[Path]) -> list[Path]:
    found = list(roots)
    if not found:
        raise InputError(
            "no folder is named", "name those with experiments: nodewise history --rebuild nodewise-experiments"
        )
    if missing := next((root for root in found if not root.is_dir()), None):
        raise InputError(f"no such directory: {missing}", "name folders of experiments, or those above them")
    return found


def read_folders(roots: Iterable[Path], left_out: list[str]) -> Iterator[Entry]:
    """The entries of experiments in folders; what cannot be read is `left_out`, with the reason."""
    for folder in folders_below(roots):
        try:
            entry = read_entry(folder)
        except NodewiseError as problem:
            left_out.append(problem.what)
            continue
        if entry is None:
            left_out.append(f"{folder}: nothing in it is looked at over time")
        else:
            yield entry
