# SPDX-License-Identifier: BSD-3-Clause
"""History as it is kept: entries are put in, each once however often it comes, and read back."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

from nodewise.base.errors import InputError, StoreError
from nodewise.base.escaping import SHOWN
from nodewise.base.frozen import dataclass
from nodewise.history.database import REBUILD, WAIT_S, Carry, open_database
from nodewise.history.entry import Entry, Point
from nodewise.history.learned import Learned, learned_from_text, surface_text
from nodewise.history.rows import Rows
from nodewise.records.commit import Commit

#: A longer text is cut: of a command of kilobytes its beginning says which one it is, and its digest tells it from others.
_LONGEST = 4000
#: How many entries are written at once.
_BATCH = 500


@dataclass(frozen=True)
class Series:
    """What points over time are of: `points` are of one program, role and metric, in one project."""

    number: int
    program: str
    name: str
    project: str
    role: str
    metric: str
    maximise: bool


@dataclass(frozen=True)
class Host:
    """A machine as it was set at one time: by its number, its name and its processor."""

    number: int
    host: str
    processor: str


@dataclass(frozen=True)
class Remembered:
    """An earlier tune: when it began (seconds since 1970), where, of which command, and what it saw."""

    began: float
    host: str
    processor: str
    command: str
    learned: Learned


@dataclass(frozen=True)
class Experimented:
    """An experiment in a list: its number, when it began (seconds since 1970), what it asked of which command, and what came of it."""

    number: int
    kind: str
    tool: str
    began: float
    folder: str
    host: str
    name: str
    sentence: str


class Store:
    """History at one place; to be closed."""

    def __init__(self, place: str, make: bool = True, wait_s: float = WAIT_S):
        """Open it, or `make` it where it is missing. Raises what `history.database.open_database` does."""
        self._database = open_database(place, make, wait_s)
        self._rows = Rows(self._database)
        self.name = self._database.name

    @property
    def damaged(self) -> tuple[str, ...]:
        """The rows that were found damaged so far, and left out of what was read, each by its table, its number and its field."""
        return self._rows.damaged

    def add(self, entries: Iterable[Entry]) -> int:
        """Put entries in, in the place of earlier ones of their keys; how many there were. Raises StoreError."""
        count = 0
        batch: list[Entry] = []
        for one in entries:
            batch.append(one)
            if len(batch) == _BATCH:
                count += self._write(batch)
                batch = []
        return count + self._write(batch)

    def _write(self, entries: Sequence[Entry]) -> int:
        if entries:
            with self._database.write() as carry:
                for one in entries:
                    _put(carry, one)
        return len(entries)

    def series(self, program: str | None = None) -> list[Series]:
        """All series, or those whose program, or a part of whose command, is `program`."""
        rows = self._rows.read(
            "series.id series.program series.name series.project series.role series.metric series.maximise",
            "FROM series",
        )
        return [Series(*row) for row in rows if program is None or program == row[1] or program in row[2]]

    def machines(self) -> dict[int, Host]:
        """All machines by their numbers; one that is set otherwise is another one."""
        rows = self._rows.read("machine.id machine.host machine.processor", "FROM machine")
        return {row[0]: Host(*row) for row in rows}

    def latest(self, since: float = 0.0) -> list[int]:
        """The numbers of all series with points since a time, the one with the latest point first."""
        found = self._database.select(
            "SELECT p.series, max(e.began) AS last FROM point p JOIN experiment e ON e.id = p.experiment WHERE e.began >= ? "
            "GROUP BY p.series ORDER BY last DESC, p.series",
            (since,),
        )
        return [row[0] for row in found]

    def points(self, series: Sequence[int], since: float = 0.0) -> list[tuple[Any, ...]]:
        """A row for each point of these series since a time, in the order of time.

        Series, experiment, machine, time, kind, tool, median, low, high, runs, failed, commit, whether it was changed, branch.
        """
        found: list[tuple[Any, ...]] = []
        for begin in range(0, len(series), _BATCH):
            some = series[begin : begin + _BATCH]
            marks = ",".join("?" * len(some))
            found += self._rows.read(
                "point.series experiment.id experiment.machine experiment.began experiment.kind experiment.tool point.median point.low "
                "point.high point.runs point.failed experiment.commit_hash experiment.commit_changed experiment.branch",
                "FROM point JOIN experiment ON experiment.id = point.experiment "
                f"WHERE point.series IN ({marks}) AND experiment.began >= ?",
                (*some, since),
            )
        return sorted(found, key=lambda row: (row[3], row[1]))

    def entry(self, number: int) -> Entry:
        """One experiment by its number. Raises InputError where there is none, StoreError where its row or its machine's is damaged."""
        before = len(self._rows.damaged)
        rows = self._rows.read(
            "experiment.mark experiment.kind experiment.began experiment.tool experiment.version experiment.folder machine.host "
            "machine.processor machine.conditions experiment.commit_hash experiment.commit_changed experiment.branch "
            "experiment.repository experiment.stopped experiment.sentence",
            "FROM experiment LEFT JOIN machine ON machine.id = experiment.machine WHERE experiment.id = ?",
            (number,),
        )
        if not rows:
            if self._database.select("SELECT id FROM experiment WHERE id = ?", (number,)):
                named = "; ".join(self._rows.damaged[before:])
                raise StoreError(f"experiment {number} is damaged{named and ': '}{named}", REBUILD)
            raise InputError(
                f"history has no experiment {number}", "nodewise history PROGRAM lists them with their numbers"
            )
        key, kind, began, tool, version, folder, host, processor, conditions, *rest = rows[0]
        commit, changed, branch, repository, stopped, sentence = rest
        own = self._rows.read(
            "series.program series.name series.metric point.median point.low point.high point.mad point.runs point.failed series.role "
            "series.maximise point.singles series.project",
            "FROM point JOIN series ON series.id = point.series WHERE point.experiment = ? ORDER BY series.id",
            (number,),
        )
        return Entry(
            key=key,
            kind=kind,
            at=began,
            points=tuple(Point(*row[:-1]) for row in own),
            tool=tool,
            version=version,
            folder=folder,
            project=own[0][12] if own else "",
            host=host,
            processor=processor,
            conditions=conditions,
            commit=Commit(commit, changed, branch, repository) if commit else None,
            stopped=stopped,
            sentence=sentence,
        )

    def latest_experiments(self, most: int) -> list[Experimented]:
        """The latest ones, the last first, each by the first of its commands."""
        rows = self._rows.read(
            "experiment.id experiment.kind experiment.tool experiment.began experiment.folder machine.host experiment.sentence",
            "FROM experiment LEFT JOIN machine ON machine.id = experiment.machine "
            "ORDER BY experiment.began DESC, experiment.id DESC LIMIT ?",
            (most,),
        )
        names: dict[int, str] = {}
        for begin in range(0, len(rows), _BATCH):
            some = [row[0] for row in rows[begin : begin + _BATCH]]
            found = self._rows.read(
                "point.experiment series.name",
                "FROM point JOIN series ON series.id = point.series "
                f"WHERE point.experiment IN ({','.join('?' * len(some))}) ORDER BY series.id",
                some,
            )
            names = {**dict(reversed(found)), **names}
        return [
            Experimented(n, kind, tool, began, folder, host, names.get(n, ""), sentence)
            for n, kind, tool, began, folder, host, sentence in rows
        ]

    def learned(self, program: str, libraries: Sequence[str], metric: str, most: int) -> list[Remembered]:
        """Tunes by a metric of a program, or of what loads exactly these libraries (if any), the latest first, at most so many of each."""
        found: dict[str, Remembered] = {}
        for column, value in (("program", program), ("libraries", " ".join(libraries))):
            rows = self._rows.read(
                "experiment.mark experiment.began machine.host machine.processor learned.command learned.program learned.libraries "
                "learned.metric learned.surface",
                "FROM learned JOIN experiment ON experiment.id = learned.experiment "
                "LEFT JOIN machine ON machine.id = experiment.machine "
                f"WHERE learned.{column} = ? AND learned.{column} <> '' AND learned.metric = ? "
                "ORDER BY experiment.began DESC, experiment.id DESC LIMIT ?",
                (_plain(value), metric, most),
            )
            for mark, began, host, processor, command, *learned in rows:
                found.setdefault(mark, Remembered(began, host, processor, command, learned_from_text(*learned)))
        return list(found.values())

    def keys(self) -> dict[str, tuple[str, str]]:
        """Of each experiment by its key its tool and its folder."""
        rows = self._rows.read("experiment.mark experiment.tool experiment.folder", "FROM experiment")
        return {row[0]: (row[1], row[2]) for row in rows}

    def entries(self, tool_is_not: str) -> list[Entry]:
        """All experiments that were measured by other tools than one; of those that are damaged none."""
        rows = self._rows.read(
            "experiment.id", "FROM experiment WHERE experiment.tool <> ? ORDER BY experiment.id", (tool_is_not,)
        )
        found = []
        for row in rows:
            # what is wrong with it is in `damaged`
            with suppress(StoreError):
                found.append(self.entry(row[0]))
        return found

    def clear(self) -> None:
        """Take all out. Raises StoreError."""
        with self._database.write() as carry:
            for table in ("learned", "point", "experiment", "series", "machine"):
                carry(f"DELETE FROM {table}")

    def close(self) -> None:
        """Let go of it."""
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _plain(text: str) -> str:
    """A text that both databases take: no stray bytes, no zeros, no megabytes."""
    return text.encode(errors=SHOWN).decode().replace("\0", "\\0")[:_LONGEST]


def _digest(*parts: object) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode(errors=SHOWN)).hexdigest()


def _made(carry: Carry, table: str, columns: Sequence[str], values: Sequence[Any], digest: str) -> int:
    """The number of a row that is there once, whoever needs it first."""
    found = carry(f"SELECT id FROM {table} WHERE digest = ?", (digest,))
    if not found:
        marks = ", ".join("?" * (len(columns) + 1))
        # another one may make it at the same time: then both are given its number
        found = carry(
            f"INSERT INTO {table} ({', '.join(columns)}, digest) VALUES ({marks}) "
            "ON CONFLICT (digest) DO UPDATE SET digest = excluded.digest RETURNING id",
            (*values, digest),
        )
    return int(found[0][0])


def _put(carry: Carry, entry: Entry) -> None:
    conditions = json.dumps({k: _plain(v) for k, v in sorted(entry.conditions.items())})
    host = (_plain(entry.host), _plain(entry.processor), conditions)
    machine = _made(carry, "machine", ("host", "processor", "conditions"), host, _digest(*host))
    commit = entry.commit or Commit("", None, "", "")
    changed = None if commit.changed is None else int(commit.changed)
    columns = {
        "kind": entry.kind,
        "tool": entry.tool,
        "version": entry.version,
        "began": entry.at,
        "folder": _plain(entry.folder),
        "machine": machine,
        "commit_hash": _plain(commit.hash),
        "commit_changed": changed,
        "branch": _plain(commit.branch),
        "repository": _plain(commit.repository),
        "stopped": entry.stopped,
        "sentence": _plain(entry.sentence),
    }
    updates = ", ".join(f"{name} = excluded.{name}" for name in columns)
    marks = ", ".join("?" * (len(columns) + 1))
    number = carry(
        f"INSERT INTO experiment (mark, {', '.join(columns)}) VALUES ({marks}) ON CONFLICT (mark) DO UPDATE SET {updates} RETURNING id",
        (_plain(entry.key), *columns.values()),
    )[0][0]
    carry("DELETE FROM point WHERE experiment = ?", (number,))
    carry("DELETE FROM learned WHERE experiment = ?", (number,))
    if (own := entry.learned) is not None:
        command = entry.points[0].name if entry.points else own.program
        carry(
            "INSERT INTO learned (experiment, program, libraries, metric, command, surface) VALUES (?, ?, ?, ?, ?, ?)",
            (number, *map(_plain, (own.program, " ".join(own.libraries), own.metric, command)), surface_text(own)),
        )
    rows: dict[int, tuple[Any, ...]] = {}
    for p in entry.points:
        names = (p.program, p.name, "" if p.anywhere else entry.project, p.role, p.metric)
        series = _made(
            carry,
            "series",
            ("program", "name", "project", "role", "metric", "maximise"),
            (*map(_plain, names), int(p.maximise)),
            _digest(*names, p.maximise),
        )
        # of several points of one command the last one counts
        rows[series] = (p.median, p.low, p.high, p.mad, p.runs, p.failed, array("d", p.values).tobytes())
    for series, values in rows.items():
        carry(
            "INSERT INTO point (series, experiment, median, low, high, mad, runs, failed, singles) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (series, number, *values),
        )
