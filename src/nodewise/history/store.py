# SPDX-License-Identifier: BSD-3-Clause
"""History as it is kept: entries are put in, each once however often it comes, and read back."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from nodewise.base.bounded_json import parse_json
from nodewise.base.errors import InputError
from nodewise.base.escaping import SHOWN
from nodewise.history.database import WAIT_S, Carry, open_database
from nodewise.history.entry import Entry, Point
from nodewise.history.learned import Learned, learned_from_text, surface_text
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
        self.name = self._database.name

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
        rows = self._database.select("SELECT id, program, name, project, role, metric, maximise FROM series")
        return [
            Series(number, own, name, project, role, metric, bool(maximise))
            for number, own, name, project, role, metric, maximise in rows
            if program is None or program == own or program in name
        ]

    def machines(self) -> dict[int, Host]:
        """All machines by their numbers; one that is set otherwise is another one."""
        return {row[0]: Host(*row) for row in self._database.select("SELECT id, host, processor FROM machine")}

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
            found += self._database.select(
                "SELECT p.series, e.id, e.machine, e.began, e.kind, e.tool, p.median, p.low, p.high, p.runs, p.failed, e.commit_hash, "
                "e.commit_changed, e.branch FROM point p JOIN experiment e ON e.id = p.experiment "
                f"WHERE p.series IN ({marks}) AND e.began >= ?",
                (*some, since),
            )
        return sorted(found, key=lambda row: (row[3], row[1]))

    def entry(self, number: int) -> Entry:
        """One experiment by its number. Raises InputError where there is none."""
        rows = self._database.select(
            "SELECT e.mark, e.kind, e.began, e.tool, e.version, e.folder, m.host, m.processor, m.conditions, e.commit_hash, e.commit_changed, "
            "e.branch, e.repository, e.stopped, e.sentence FROM experiment e JOIN machine m ON m.id = e.machine WHERE e.id = ?",
            (number,),
        )
        if not rows:
            raise InputError(
                f"history has no experiment {number}", "nodewise history PROGRAM lists them with their numbers"
            )
        (
            key,
            kind,
            began,
            tool,
            version,
            folder,
            host,
            processor,
            conditions,
            commit,
            changed,
            branch,
            repository,
            *said,
        ) = rows[0]
        own = self._database.select(
            "SELECT s.program, s.name, s.metric, p.median, p.low, p.high, p.mad, p.runs, p.failed, s.role, s.maximise, p.singles, s.project "
            "FROM point p JOIN series s ON s.id = p.series WHERE p.experiment = ? ORDER BY s.id",
            (number,),
        )
        return Entry(
            key=key,
            kind=kind,
            at=began,
            points=tuple(_point(row) for row in own),
            tool=tool,
            version=version,
            folder=folder,
            project=own[0][12] if own else "",
            host=host,
            processor=processor,
            conditions=parse_json(conditions),
            commit=Commit(commit, None if changed is None else bool(changed), branch, repository) if commit else None,
            stopped=said[0],
            sentence=said[1],
        )

    def latest_experiments(self, most: int) -> list[Experimented]:
        """The latest ones, the last first, each by the first of its commands."""
        rows = self._database.select(
            "SELECT e.id, e.kind, e.tool, e.began, e.folder, m.host, (SELECT s.name FROM point p JOIN series s ON s.id = p.series "
            "WHERE p.experiment = e.id ORDER BY s.id LIMIT 1), e.sentence FROM experiment e JOIN machine m ON m.id = e.machine "
            "ORDER BY e.began DESC, e.id DESC LIMIT ?",
            (most,),
        )
        return [
            Experimented(n, kind, tool, at, folder, host, name or "", said)
            for n, kind, tool, at, folder, host, name, said in rows
        ]

    def learned(self, program: str, libraries: Sequence[str], metric: str, most: int) -> list[Remembered]:
        """Tunes by a metric of a program, or of what loads exactly these libraries (if any), the latest first, at most so many of each."""
        found: dict[str, Remembered] = {}
        for column, value in (("program", program), ("libraries", " ".join(libraries))):
            rows = self._database.select(
                "SELECT e.mark, e.began, m.host, m.processor, l.command, l.program, l.libraries, l.metric, l.surface FROM learned l "
                "JOIN experiment e ON e.id = l.experiment JOIN machine m ON m.id = e.machine "
                f"WHERE l.{column} = ? AND l.{column} <> '' AND l.metric = ? ORDER BY e.began DESC, e.id DESC LIMIT ?",
                (_plain(value), metric, most),
            )
            for mark, *facts in rows:
                began, host, processor, command, *surface = facts
                found.setdefault(mark, Remembered(began, host, processor, command, learned_from_text(*surface)))
        return list(found.values())

    def keys(self) -> dict[str, tuple[str, str]]:
        """Of each experiment by its key its tool and its folder."""
        return {row[0]: (row[1], row[2]) for row in self._database.select("SELECT mark, tool, folder FROM experiment")}

    def entries(self, tool_is_not: str) -> list[Entry]:
        """All experiments that were measured by other tools than one."""
        rows = self._database.select("SELECT id FROM experiment WHERE tool <> ? ORDER BY id", (tool_is_not,))
        return [self.entry(row[0]) for row in rows]

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


def _point(row: tuple[Any, ...]) -> Point:
    program, name, metric, median, low, high, mad, runs, failed, role, maximise, singles, _ = row
    values = tuple(array("d", bytes(singles)))
    return Point(program, name, metric, median, low, high, mad, runs, failed, role, bool(maximise), values)


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
        names = (p.program, p.name, entry.project, p.role, p.metric)
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
