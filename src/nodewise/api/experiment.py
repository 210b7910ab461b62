# SPDX-License-Identifier: BSD-3-Clause
"""Experiment: a directory with the question, every sample as it came, the verdict and the report.

`question.json` and `verdict.json` are written whole or not at all; `samples.jsonl` is only ever appended to, one record
a line in one write, so that a kill at any moment costs at most the line being written, which reading then skips.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

from nodewise.base.errors import InputError, StoreError
from nodewise.runner.sample import Sample, sample_from_json
from nodewise.runner.setting import Setting, setting_from_json

SCHEMA = 1


@dataclass(frozen=True)
class Record:
    """One sample in its place: which setting, in which phase of the search (`search`, `confirm`), block and position."""

    setting: str
    phase: str
    block: int
    position: int
    sample: Sample


@dataclass(frozen=True)
class Plan:
    """The comparison that decides, fixed before its first run: `candidate` against the baseline in fresh blocks.

    `looks` are the numbers of blocks after which it may stop, `alpha` the error rate of them all; `ablations` name, for
    an axis, the setting that is the candidate with that axis as in the baseline.
    """

    candidate: str
    looks: tuple[int, ...]
    alpha: float
    ablations: dict[str, str]


@dataclass
class Experiment:
    """What a directory holds, read back: `question` as asked, `settings` by key, `records` in the order they were taken."""

    path: Path
    question: dict[str, Any]
    settings: dict[str, Setting] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    plan: Plan | None = None
    verdict: dict[str, Any] | None = None
    damaged_lines: int = 0

    @cached_property
    def _by_setting(self) -> dict[str, list[Record]]:
        found: dict[str, list[Record]] = {}
        for record in self.records:
            found.setdefault(record.setting, []).append(record)
        return found

    def of(self, key: str, phase: str | None = None) -> list[Record]:
        """The records of one setting, in one phase or in all; to be asked once all records are there."""
        return [r for r in self._by_setting.get(key, ()) if phase in (None, r.phase)]


def _store_error(path: Path, problem: OSError) -> StoreError:
    hints = {
        errno.ENOSPC: "free some space, or choose another directory with --out; what was written so far is kept",
        errno.EDQUOT: "the quota is used up: free some space, or choose another directory with --out",
        errno.EFBIG: "a file size limit (ulimit -f) is in force: raise it, or choose another directory with --out",
        errno.EACCES: "choose a directory that you may write to with --out",
        errno.EPERM: "choose a directory that you may write to with --out",
        errno.EROFS: "choose a directory on a writable filesystem with --out",
        errno.ENOTDIR: "a part of that path is a file: choose another directory with --out",
        errno.ENOENT: "the directory that it is to be in is not there: make it first",
        errno.EEXIST: "there is a file of that name: choose another directory with --out",
    }
    return StoreError(f"cannot write {path}: {problem.strerror or problem}", hints.get(problem.errno or 0))


def make_directory(path: Path) -> None:
    """Make a directory, and those above it, where they are missing. Raises StoreError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise _store_error(path, problem) from problem


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that a reader, or a kill, sees the old one or the new one and nothing between. Raises StoreError."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    data = content.encode() if isinstance(content, str) else content
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as problem:
        with contextlib.suppress(OSError):
            part.unlink()
        raise _store_error(path, problem) from problem


class Writer:
    """The one writer of an experiment's directory; a second one is refused."""

    def __init__(self, path: Path, question: dict[str, Any]):
        """Create the directory and store the question. Raises StoreError where it cannot be written, InputError where it is taken."""
        self.path = path
        make_directory(path)
        try:
            self._samples = os.open(path / "samples.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as problem:
            raise _store_error(path, problem) from problem
        try:
            fcntl.flock(self._samples, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            os.close(self._samples)
            raise InputError(
                f"another nodewise is writing to {path}",
                "wait for it, or choose another directory with --out",
            ) from problem
        if os.fstat(self._samples).st_size:
            os.close(self._samples)
            raise InputError(
                f"{path} holds an experiment already",
                "choose another directory with --out, or remove that one",
            )
        self._known: set[str] = set()
        write_whole(path / "question.json", json.dumps({"nodewise_experiment": SCHEMA, **question}, indent=1))

    def add(self, record: Record, setting: Setting) -> None:
        """Append a sample, and its setting where it is new. Raises StoreError (disk full …); what was there stays whole."""
        lines: list[dict[str, Any]] = []
        if record.setting not in self._known:
            lines.append({"type": "setting", **setting.to_json()})
        place = {
            "setting": record.setting,
            "phase": record.phase,
            "block": record.block,
            "position": record.position,
        }
        lines.append({"type": "sample", **place, **record.sample.to_json()})
        self._append("".join(json.dumps(line) + "\n" for line in lines))
        self._known.add(record.setting)

    def add_plan(self, plan: Plan) -> None:
        """Append the plan of the deciding comparison; the last one counts."""
        self._append(json.dumps({"type": "plan", **asdict(plan)}) + "\n")

    def _append(self, text: str) -> None:
        data = text.encode()
        start = os.fstat(self._samples).st_size
        try:
            written = os.write(self._samples, data)
            if written != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as problem:
            os.ftruncate(self._samples, start)
            raise _store_error(self.path / "samples.jsonl", problem) from problem

    def conclude(self, verdict: dict[str, Any]) -> None:
        """Store the verdict."""
        write_whole(self.path / "verdict.json", json.dumps(verdict, indent=1))

    def discard(self) -> None:
        """Take back a directory in which nothing was measured; one that held other files before stays."""
        for name in ("question.json", "samples.jsonl"):
            (self.path / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.path.rmdir()

    def close(self) -> None:
        """Give the directory up to other writers."""
        os.close(self._samples)

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _lines(path: Path) -> Iterator[dict[str, Any] | None]:
    """The records of a file of JSON lines; None for a line that is no record (cut off by a kill)."""
    with path.open("rb") as file:
        for line in file:
            try:
                record = json.loads(line)
            except ValueError:
                record = None
            yield record if isinstance(record, dict) else None


def read_experiment(path: Path) -> Experiment:
    """Read a directory that `Writer` wrote, on this or another machine. Raises InputError where it is none."""
    hint = "give the directory that `nodewise tune` named in its last line"
    if not path.is_dir():
        raise InputError(f"no such directory: {path}", hint)
    try:
        question = json.loads((path / "question.json").read_text())
        schema = question["nodewise_experiment"]
    except FileNotFoundError as problem:
        raise InputError(f"{path} holds no experiment (no question.json)", hint) from problem
    except (ValueError, KeyError, TypeError) as problem:
        raise InputError(f"{path / 'question.json'} cannot be read: {problem}", hint) from problem
    if schema != SCHEMA:
        raise InputError(
            f"{path} has schema {schema}, this nodewise reads {SCHEMA}",
            "read it with the nodewise that wrote it",
        )
    experiment = Experiment(path, question)
    samples = path / "samples.jsonl"
    for line in _lines(samples) if samples.exists() else ():
        try:
            if line is None:
                raise ValueError
            if line["type"] == "setting":
                setting = setting_from_json(line)
                experiment.settings[setting.key] = setting
            elif line["type"] == "sample":
                place = (line["setting"], line["phase"], line["block"], line["position"])
                experiment.records.append(Record(*place, sample_from_json(line)))
            elif line["type"] == "plan":
                experiment.plan = Plan(line["candidate"], tuple(line["looks"]), line["alpha"], line["ablations"])
        except (ValueError, KeyError, TypeError):
            experiment.damaged_lines += 1
    verdict = path / "verdict.json"
    if verdict.exists():
        experiment.verdict = json.loads(verdict.read_text())
    return experiment
