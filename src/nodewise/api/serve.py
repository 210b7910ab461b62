# SPDX-License-Identifier: BSD-3-Clause
"""What `nodewise serve` shows: the history, the reports of what is in it, and the experiments that run.

Everything is read when it is asked for and at no other time; nothing is written. What runs is read again only after many times
the time that reading it took, so that looking on costs at most a small share of one processor.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, TypeVar

from nodewise.base.bounded_json import read_bounded
from nodewise.base.errors import InputError, NodewiseError
from nodewise.base.frozen import dataclass
from nodewise.history.entries import folders_below
from nodewise.history.store import Experimented, Store
from nodewise.history.trend import MOST_SERIES, Trends, trends_of
from nodewise.records.neighbours import neighbours, user_name
from nodewise.verdicts.live import Live, read_live

#: Of the time at most this share is spent on reading what runs.
SHARE = 0.02
#: The experiments in the table, the latest ones.
MOST_LISTED = 100
#: How long an answer about history holds, in seconds.
_HELD_S = 5.0
#: A longer report is not shown, in bytes: it is held twice while it is sent. Those of long tunes have some megabytes.
_MOST_PAGE = 64 << 20
#: How often what runs is looked for.
_LOOK_S = 1.0

_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Watched:
    """An experiment that is watched: its name in addresses, what its folder has, and whether a process of this machine is writing it."""

    name: str
    running: bool
    live: Live


@dataclass(frozen=True)
class Overview:
    """The front page: experiments that are watched, the latest of history, its trends, and why there are none (empty: there are)."""

    watched: tuple[Watched, ...]
    listed: tuple[Experimented, ...]
    trends: Trends | None
    missing: str


@dataclass
class _Kept:
    until: float
    answer: Any = field(default=None)


class Served:
    """What is shown of the history at `place` (None: there is none), of `folders` with experiments and of all that run here.

    `clock` gives seconds. It may be asked by several threads.
    """

    def __init__(
        self, place: str | None, folders: Sequence[Path] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._place = place
        self._folders = tuple(folders)
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[Hashable, _Kept] = {}
        self._seen: dict[str, Path] = {}

    def overview(self) -> Overview:
        """All of it. Never fails for want of a history."""
        listed, trends, missing = self._once("history", self._history, _HELD_S)
        return Overview(tuple(self.watched()), listed, trends, missing)

    def watched(self) -> list[Watched]:
        """What runs on this machine and may be read, and the folders that were named, the one that was written last first."""
        found = []
        for name in list(self._names()):
            try:
                found.append(self.one(name))
            except NodewiseError:
                # it has just begun, or was taken away
                continue
        return sorted(found, key=lambda w: (w.running, w.live.written_at), reverse=True)

    def one(self, name: str) -> Watched:
        """One of them by its name. Raises InputError where there is none, or it cannot be read."""
        running = self._names()
        with self._lock:
            folder = self._seen.get(name)
        if folder is None:
            raise InputError("no such experiment is watched", "the front page lists those that are")
        live: Live = self._once(("live", name), lambda: read_live(folder), 0.0, (folder / "samples.jsonl", folder))
        return Watched(name, running.get(name, False), live.as_of(time.time()))

    def report_of(self, name: str) -> str:
        """The page of one of them. Raises InputError."""
        self._names()
        with self._lock:
            folder = self._seen.get(name)
        if folder is None:
            raise InputError("no such experiment is watched", "the front page lists those that are")
        return _page(folder)

    def report(self, number: int) -> str:
        """The page of an experiment by its number in history. Raises InputError where there is none on this machine."""
        if self._place is None:
            raise InputError("history is turned off", "unset NODEWISE_HISTORY")
        with Store(self._place, make=False) as store:
            entry = store.entry(number)
        if entry.tool != "nodewise":
            raise InputError(f"experiment {number} was measured by {entry.tool}", "it has no report")
        folder = Path(entry.folder)
        # without a folder it would be this one
        if not entry.folder or not folder.is_dir():
            raise InputError(f"the folder of experiment {number} is not here: {folder}", f"it was made on {entry.host}")
        return _page(folder)

    def _history(self) -> tuple[tuple[Experimented, ...], Trends | None, str]:
        if self._place is None:
            return (), None, "history is turned off (NODEWISE_HISTORY=off)"
        listed: tuple[Experimented, ...] = ()
        try:
            with Store(self._place, make=False) as store:
                listed = tuple(store.latest_experiments(MOST_LISTED))
                return listed, trends_of(store, most=MOST_SERIES), ""
        except NodewiseError as problem:
            return listed, None, problem.what

    def _names(self) -> dict[str, bool]:
        """The names of what is watched, and whether it is running here; they are remembered for as long as this lives."""
        return self._once("names", self._look, _LOOK_S)

    def _look(self) -> dict[str, bool]:
        me = user_name()
        found = {Path(n.directory): True for n in neighbours() if n.user == me}
        for folder in folders_below(self._folders):
            found.setdefault(folder.absolute(), False)
        named = {
            hashlib.sha256(str(folder).encode(errors="surrogateescape")).hexdigest()[:16]: folder for folder in found
        }
        with self._lock:
            self._seen |= named
        return {name: found[folder] for name, folder in named.items()}

    def _once(self, key: Hashable, ask: Callable[[], _Answer], holds_s: float, files: Sequence[Path] = ()) -> _Answer:
        """The answer, kept for so long and for as long as `SHARE` asks, and while `files` stay as they are."""
        stamp = (key, *map(_stamp, files))
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and (self._clock() < kept.until or (files and kept.answer[0] == stamp)):
                found: _Answer = kept.answer[1]
                return found
        begin = self._clock()
        answer = ask()
        took = self._clock() - begin
        with self._lock:
            self._kept[key] = _Kept(self._clock() + max(holds_s, took / SHARE), (stamp, answer))
        return answer


def _stamp(path: Path) -> tuple[int, int]:
    try:
        state = path.stat()
    except OSError:
        return 0, 0
    return state.st_mtime_ns, state.st_size


def _page(folder: Path) -> str:
    """The report that was written into a folder. Raises InputError where there is none."""
    try:
        size = (folder / "report.html").stat().st_size
        if size > _MOST_PAGE:
            raise InputError(
                f"the report in {folder} is too long to be shown: {size} bytes, of at most {_MOST_PAGE}",
                f"make it anew: nodewise report {folder}",
            )
        return read_bounded(folder / "report.html", _MOST_PAGE).decode(errors="replace")
    except (OSError, ValueError) as problem:
        what = getattr(problem, "strerror", None) or problem
        raise InputError(f"there is no report in {folder}: {what}", f"make it: nodewise report {folder}") from problem
