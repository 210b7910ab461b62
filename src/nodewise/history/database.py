# SPDX-License-Identifier: BSD-3-Clause
"""The two databases that history may be kept in: what is alike of SQLite and PostgreSQL, and what is not."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from nodewise.base.errors import InputError, NodewiseError, StoreError, UnavailableError
from nodewise.base.files import make_directory
from nodewise.history.place import is_server

#: Raised with every change of the tables: an earlier one is converted (`_ADDED`), a later one is not touched.
SCHEMA = 2
#: How long a writer waits for others.
WAIT_S = 10.0
#: Marks an SQLite file as one of ours.
_OURS = 0x6E6F6465
#: What helps where it is damaged.
REBUILD = "make it anew from the folders of your experiments: nodewise history --rebuild DIR…"

#: The tables, in the words that both have; {id}, {real} and {bytes} are types that each calls otherwise.
_TABLES = (
    "CREATE TABLE machine (id {id}, digest TEXT NOT NULL UNIQUE, host TEXT NOT NULL, processor TEXT NOT NULL, conditions TEXT NOT NULL)",
    "CREATE TABLE series (id {id}, digest TEXT NOT NULL UNIQUE, program TEXT NOT NULL, name TEXT NOT NULL, project TEXT NOT NULL, "
    "role TEXT NOT NULL, metric TEXT NOT NULL, maximise INTEGER NOT NULL)",
    "CREATE TABLE experiment (id {id}, mark TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, tool TEXT NOT NULL, version TEXT NOT NULL, "
    "began {real} NOT NULL, folder TEXT NOT NULL, machine INTEGER NOT NULL REFERENCES machine, commit_hash TEXT NOT NULL, "
    "commit_changed INTEGER, branch TEXT NOT NULL, repository TEXT NOT NULL, stopped TEXT NOT NULL, sentence TEXT NOT NULL)",
    "CREATE TABLE point (series INTEGER NOT NULL REFERENCES series, experiment INTEGER NOT NULL REFERENCES experiment, "
    "median {real} NOT NULL, low {real}, high {real}, mad {real}, runs INTEGER NOT NULL, failed INTEGER NOT NULL, "
    "singles {bytes} NOT NULL, PRIMARY KEY (series, experiment))",
    "CREATE INDEX point_of_experiment ON point (experiment)",
)
#: By schema what it has beyond the one before: so far each has only added tables.
_ADDED: dict[int, tuple[str, ...]] = {
    2: (
        "CREATE TABLE learned (experiment INTEGER PRIMARY KEY REFERENCES experiment, program TEXT NOT NULL, libraries TEXT NOT NULL, "
        "metric TEXT NOT NULL, command TEXT NOT NULL, surface TEXT NOT NULL)",
        "CREATE INDEX learned_of_program ON learned (program)",
        "CREATE INDEX learned_of_libraries ON learned (libraries)",
    ),
}


def _statements(version: int, **types: str) -> list[str]:
    """What makes this schema of one, 0 for none. Raises KeyError where that cannot be."""
    further = [statement for later in range(max(version, 1) + 1, SCHEMA + 1) for statement in _ADDED[later]]
    return [one.format(**types) for one in (*(() if version else _TABLES), *further)]


class Database(Protocol):
    """A database that is open: statements have `?` for values."""

    def select(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows that a statement gives. Raises StoreError."""

    @property
    def name(self) -> str:
        """What it is called in messages; no password is in it."""

    def write(self) -> Any:
        """A context in which a function carries statements out, all of them or none. Raises StoreError."""

    def close(self) -> None:
        """Let go of it."""


Carry = Callable[..., list[tuple[Any, ...]]]


class Sqlite:
    """A file, with its tables; it is made where it is missing and `make` says so."""

    def __init__(self, path: Path, make: bool, wait_s: float = WAIT_S):
        self.name = str(path)
        if not make and not path.is_file():
            raise InputError(
                f"there is no history yet: {path}", "measure something, or: nodewise history --rebuild DIR…"
            )
        if path.exists() and not path.is_file():
            # who opens a pipe would wait for somebody at its other end
            raise InputError(f"{path} is no file that history can be kept in", "name another one")
        if make:
            make_directory(path.parent)
        try:
            self._wait_s = wait_s
            self._own = sqlite3.connect(path, timeout=wait_s, isolation_level=None)
            self._own.text_factory = _text_or_bytes
        except sqlite3.Error as problem:
            raise StoreError(
                f"the history {path} cannot be opened: {problem}", "name another file by NODEWISE_HISTORY"
            ) from problem
        try:
            with self._told():
                self._check()
        except BaseException:
            self._own.close()
            raise

    def _check(self) -> None:
        if self._marks() == (_OURS, SCHEMA):
            return
        # another one may be making the tables: while nobody writes it is looked at once more
        with self.write() as carry:
            ours, version = self._marks()
            if not version and not carry("SELECT count(*) FROM sqlite_master")[0][0]:
                self._make(carry, 0)
                carry(f"PRAGMA application_id = {_OURS}")
            elif ours != _OURS:
                raise InputError(f"{self.name} is a database of something else", "name another file")
            elif 0 < version < SCHEMA:
                self._keep()
                self._make(carry, version)
            elif version != SCHEMA:
                raise _of_schema(self.name, version)

    def _make(self, carry: Carry, version: int) -> None:
        for statement in _statements(version, id="INTEGER PRIMARY KEY", real="REAL", bytes="BLOB"):
            carry(statement)
        carry(f"PRAGMA user_version = {SCHEMA}")

    def _keep(self) -> None:
        """Copy the file as it was last committed, beside it, as `.old`; who converts it lets others read and nobody write."""
        kept = Path(f"{self.name}.{datetime.now(UTC):%Y%m%d-%H%M%S}.old")
        begun = kept.with_name(f"{kept.name}.{os.getpid()}")
        try:
            with (
                closing(sqlite3.connect(self.name, timeout=self._wait_s)) as read,
                closing(sqlite3.connect(begun)) as copy,
            ):
                read.backup(copy)
            begun.replace(kept)
        finally:
            begun.unlink(missing_ok=True)

    def _marks(self) -> tuple[int, int]:
        """Whose file it is, and of which schema."""
        ours, version = (
            self._own.execute(f"PRAGMA {word}").fetchone()[0] for word in ("application_id", "user_version")
        )
        return ours, version

    def select(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows that a statement gives. Raises StoreError."""
        with self._told():
            return self._own.execute(statement, values).fetchall()

    @contextmanager
    def write(self) -> Iterator[Carry]:
        """A context in which a function carries statements out, all of them or none. Raises StoreError."""
        with self._told():
            # asked for at once: who reads first and writes then may find that another one has written between
            self._own.execute("BEGIN IMMEDIATE")
            try:
                yield lambda statement, values=(): self._own.execute(statement, values).fetchall()
                self._own.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._own.execute("ROLLBACK")
                raise

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as problem:
            if "locked" in str(problem) or "busy" in str(problem):
                what = f"the history {self.name} was in use by others for {self._wait_s:.0f} s"
                raise StoreError(what, "try again, or name another file by NODEWISE_HISTORY") from problem
            # a table or a column that is not there
            if "no such" in str(problem):
                raise StoreError(f"the history {self.name} is damaged: {problem}", REBUILD) from problem
            hint = "see that there is space, and that you may write there; or name another file by NODEWISE_HISTORY"
            raise StoreError(f"the history {self.name} cannot be used: {problem}", hint) from problem
        except sqlite3.DatabaseError as problem:
            raise StoreError(f"the history {self.name} is damaged: {problem}", REBUILD) from problem

    def close(self) -> None:
        """Let go of it."""
        self._own.close()


class Postgres:
    """A database of a PostgreSQL server, with its tables, which are made where they are missing."""

    def __init__(self, url: str, wait_s: float = WAIT_S):
        try:
            import psycopg
        except ImportError as problem:
            raise UnavailableError(
                "history on a PostgreSQL server needs psycopg", "pip install 'nodewise[postgres]'"
            ) from problem
        self._error: type[Exception] = psycopg.Error
        try:
            parts = urlsplit(url)
            self.name = f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"
            self._own = psycopg.connect(url, autocommit=True, connect_timeout=int(wait_s))
        except (psycopg.Error, ValueError) as problem:
            # what it says may hold the password
            reason = str(problem).strip().splitlines()[0].replace(urlsplit_password(url) or "\0", "…")
            raise StoreError(
                f"the history's server cannot be reached: {reason}",
                "see that the URL is postgresql://USER@HOST/DATABASE, and that the server is there",
            ) from problem
        try:
            self._check()
        except BaseException:
            self._own.close()
            raise

    def _check(self) -> None:
        with self.write() as carry:
            carry("CREATE TABLE IF NOT EXISTS nodewise_schema (version INTEGER NOT NULL)")
            found = carry("SELECT version FROM nodewise_schema")
            if not found:
                self._make(carry, 0)
                carry("INSERT INTO nodewise_schema VALUES (?)", (SCHEMA,))
            elif 0 < found[0][0] < SCHEMA:
                # within this transaction, in which the server carries out changes of tables, too: all of it or nothing
                self._make(carry, found[0][0])
                carry("UPDATE nodewise_schema SET version = ?", (SCHEMA,))
            elif found[0][0] != SCHEMA:
                raise _of_schema(self.name, found[0][0])

    def _make(self, carry: Carry, version: int) -> None:
        own = "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"
        for statement in _statements(version, id=own, real="DOUBLE PRECISION", bytes="BYTEA"):
            carry(statement)

    def select(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows that a statement gives. Raises StoreError."""
        with self._told():
            return self._carry(statement, values)

    def _carry(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        done = self._own.execute(statement.replace("?", "%s"), values)
        return done.fetchall() if done.description else []

    @contextmanager
    def write(self) -> Iterator[Carry]:
        """A context in which a function carries statements out, all of them or none. Raises StoreError."""
        with self._told(), self._own.transaction():
            # one at a time: who makes the same rows in another order would wait for each other
            self._carry("SELECT pg_advisory_xact_lock(?)", (_OURS,))
            yield self._carry

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except self._error as problem:
            what = str(problem).strip().splitlines()[0]
            raise StoreError(
                f"the history {self.name} cannot be used: {what}", "see that the server is there, and what you may do"
            ) from problem

    def close(self) -> None:
        """Let go of it."""
        self._own.close()


def _text_or_bytes(read: bytes) -> str | bytes:
    """A text; what is none stays what it is, so that it costs no more than its row."""
    try:
        return read.decode()
    except UnicodeDecodeError:
        return read


def urlsplit_password(url: str) -> str | None:
    """The password in a URL; None where there is none, or it is no URL."""
    try:
        return urlsplit(url).password
    except ValueError:
        return None


def _of_schema(name: str, version: int) -> NodewiseError:
    if version > SCHEMA:
        return InputError(
            f"the history {name} is of a newer nodewise (schema {version}, this one has {SCHEMA})",
            "use that one, or name another file",
        )
    return InputError(f"the history {name} has schema {version}, this nodewise has {SCHEMA}", REBUILD)


def open_database(place: str, make: bool = True, wait_s: float = WAIT_S) -> Database:
    """The database at a place (`history.place`), which is made where it is missing and `make` says so; others are waited for that long.

    Raises StoreError where it cannot be used, InputError where it is of another schema or missing, UnavailableError where a server is asked for
    and psycopg is not installed.
    """
    return Postgres(place, wait_s) if is_server(place) else Sqlite(Path(place), make, wait_s)
