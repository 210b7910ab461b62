# SPDX-License-Identifier: BSD-3-Clause
"""Experiment: a directory with the question, every sample as it came, the verdict and the report.

`question.json` and `verdict.json` are written whole or not at all; `samples.jsonl` is only ever appended to, one record
a line in one write, so that a kill at any moment costs at most the line being written, which reading then skips.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from dataclasses import asdict, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from nodewise.base.bounded_json import parse_json, read_bounded
from nodewise.base.ends import deaf, heard_later
from nodewise.base.errors import InputError, StoreError
from nodewise.base.files import make_directory, remove_left_parts, store_error, write_within
from nodewise.base.frozen import dataclass
from nodewise.base.masking import Masks
from nodewise.base.shapes import ShapeError
from nodewise.records.answers import AnswerJudge, exit_code_notes, judge_of, judge_records
from nodewise.records.columns import Record, Records
from nodewise.records.kind_registry import check_references, kind_named
from nodewise.records.neighbours import Running
from nodewise.records.other_folders import what_it_holds
from nodewise.records.programs import Programs
from nodewise.records.question import check_question
from nodewise.records.sample_lines import Neighbour, Plan, ran_meanwhile, read_lines
from nodewise.records.secret_file import SECRETS, Revealed, Through, write_secrets
from nodewise.records.veil import Veil, masked_question
from nodewise.runner.marks import UNREAD
from nodewise.runner.objective import Objective, Shown
from nodewise.runner.setting import Setting
from nodewise.statistics.disturbance import repeat_worthy

SCHEMA = 1
#: The directories that this process has written to.
_OWN: set[Path] = set()
#: Those of which all runs are made, and only the answer is still to be told.
_MEASURED: set[Path] = set()
#: The folder with what fresh processes have to call, where functions are compared.
CALLS = "calls"
#: The file with the answer of the baseline's first run, where answers are compared.
_REFERENCE = "reference-output"


@dataclass
class Experiment:
    """What a directory holds, read back: `question` as asked, `settings` by key, `records` in the order they were taken.

    `whole_bytes` is how much of the file of samples is whole lines; a kill may have left a piece of one behind them.
    `damage` says in words what could not be read and was left out, `neighbours` are experiments that ran at the same time. Where it
    was read with its true values `masks` are what it is written with (None: secrets are masked in it). `changed` names programs that were built anew,
    `next_number` is what the next sample is to be numbered.
    """

    path: Path
    question: dict[str, Any]
    settings: dict[str, Setting] = field(default_factory=dict)
    records: Records = field(default_factory=Records)
    plans: list[Plan] = field(default_factory=list)
    verdict: dict[str, Any] | None = None
    damaged_lines: int = 0
    whole_bytes: int = 0
    damage: list[str] = field(default_factory=list)
    neighbours: list[Neighbour] = field(default_factory=list)
    masks: Masks | None = None
    changed: list[str] = field(default_factory=list)
    next_number: int = 0

    @property
    def objective(self) -> Objective:
        """What was asked to be compared."""
        asked = self.question.get("objective") or {}
        return Objective(asked.get("metric", "seconds"), bool(asked.get("maximise", False)))

    @property
    def shown(self) -> Shown:
        """What was asked to be shown besides."""
        asked = self.question.get("shown") or {}
        metrics = tuple(Objective(m["metric"], bool(m["maximise"])) for m in asked.get("metrics", ()))
        return Shown(metrics, str(asked.get("currency", "")))

    @cached_property
    def costs(self) -> npt.NDArray[np.float64]:
        """The cost of each record under the objective; NaN where it does not count. To be asked once all records are there."""
        costs = self.records.costs(self.objective)
        costs[~self.counted] = np.nan
        return costs

    @cached_property
    def counted(self) -> npt.NDArray[np.bool_]:
        """Which records count: the good ones. Where the kind has it so (`Kind.undisturbed`), of those that decide none that something disturbed which another run may
        be spared, unless disturbed ones were accepted or are more than half: then there is nothing else to be had, and the marks say why.

        To be asked once all records are there.
        """
        records, good = self.records, self.records.ok
        marked = good & records.marked
        if (
            not marked.any()
            or self.question.get("accept_disturbed")
            or not kind_named(self.question["kind"]).undisturbed
        ):
            return good
        own = good & records.in_phase(kind_named(self.question["kind"]).phase)
        left_out = [i for i in np.flatnonzero(own & marked).tolist() if repeat_worthy(records.marks(i))]
        if 2 * len(left_out) <= int(own.sum()):
            good[left_out] = False
        return good

    @property
    def remarks(self) -> list[str]:
        """What is to be said with any verdict on it: what is damaged, which programs changed, what ran meanwhile, what was not read of reports."""
        return [
            *self.damage,
            *self.changed,
            *ran_meanwhile(self.neighbours),
            *exit_code_notes(self),
            *self._unread_reports,
        ]

    @cached_property
    def _unread_reports(self) -> list[str]:
        """One note of lines and numbers of the sample protocol that were not read, where there are any."""
        marked = np.flatnonzero(self.records.marked).tolist()
        found = [m for i in marked for m in self.records.marks(i) if m.startswith(UNREAD)]
        return [f"{found[0]} ({len(found)} of {len(self.records)} runs)"] if found else []

    def of(self, key: str, phase: str | None = None) -> list[Record]:
        """The records of one setting, in one phase or in all."""
        return [self.records[int(i)] for i in self.records.of(key, phase)]


def is_own(path: Path) -> bool:
    """Whether it is this process that writes, or wrote, the experiment in a directory."""
    return path.absolute() in _OWN


def is_measured(path: Path) -> bool:
    """Whether this process has made all the runs of the experiment in a directory (a whole path), and works out its answer or has it."""
    return path in _MEASURED


class Writer:
    """The one writer of an experiment's directory; a second one is refused.

    What looks like a secret is masked in all that it writes, and kept in a file for its owner alone: `records.secret_file`.
    """

    def __init__(self, path: Path, question: dict[str, Any] | None, masks: Masks | None = None):
        """Create the directory and store the question; without one (None) an experiment that is there is continued.

        `masks` are those of an experiment that this one repeats, so that a secret has the same name in both.
        Raises StoreError where it cannot be written, InputError where another one is there, or writing.
        """
        self.path = path
        self.earlier: Experiment | None = None
        if question is not None:
            check_references(kind_named(question["kind"]))
        #: Whether a sample was added.
        self.measured = False
        self._seen: list[Neighbour] = []
        self._made: list[Path] = []
        self._spelled: dict[str, tuple[Any, str]] = {}
        # a folder that is half made would be no experiment, and nobody's
        with contextlib.ExitStack() as stack:
            asked_to_end = stack.enter_context(heard_later()) if question is not None else []
            self._enter(question, masks)
            if asked_to_end and self._fresh:
                self._running.leave()
                self.discard()
                os.close(self._samples)

    def _enter(self, question: dict[str, Any] | None, masks: Masks | None) -> None:
        path = self.path
        if question is not None:
            self._made = [p for p in (path, *path.absolute().parents) if not p.exists()]
        elif not (path / "question.json").is_file():
            raise InputError(f"{path} holds no experiment to continue (no question.json)", "name the directory of one")
        try:
            if question is not None:
                make_directory(path)
            self._samples = os.open(path / "samples.jsonl", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except (OSError, StoreError) as problem:
            self._take_back_folders()
            raise problem if isinstance(problem, StoreError) else store_error(path, problem) from problem
        try:
            fcntl.flock(self._samples, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            os.close(self._samples)
            raise InputError(
                f"another nodewise is writing to {path}",
                "wait for it, or choose another directory with --out",
            ) from problem
        self._fresh = question is not None and not os.fstat(self._samples).st_size
        self._least = 0
        try:
            self._begin(question, masks)
        except BaseException:
            # nobody else has anything in it: the lock is ours, and the file of samples is empty
            if self._fresh:
                self.discard()
            os.close(self._samples)
            raise
        _OWN.add(path.absolute())
        _MEASURED.discard(path.absolute())
        self._running = Running(str(self._question["kind"]), path)
        self._running.enter()

    def _begin(self, question: dict[str, Any] | None, masks: Masks | None) -> None:
        self._known: set[str] = set()
        self._number = 0
        self._question = {"nodewise_experiment": SCHEMA, **(question or {})}
        self._saved: set[str] = set()
        if question is None:
            through = Revealed(self.path)
            self._veil, self._saved = Veil(through.masks), set(through.masks.used)
            remove_left_parts(self.path)
            # what a kill has cut off goes, else the next line would be joined to it
            self.earlier = read_experiment(self.path, judged=False, through=through)
            self._seen = list(self.earlier.neighbours)
            self._question = self.earlier.question
            whole = self.earlier.whole_bytes
            try:
                os.ftruncate(self._samples, whole)
            except OSError as problem:
                raise store_error(self.path / "samples.jsonl", problem) from problem
            if whole and os.pread(self._samples, 1, whole - 1) != b"\n":
                self._append("\n")
            self._known = set(self.earlier.settings)
            self._number = self.earlier.next_number
            self._programs = Programs(self._question, self.earlier.records)
            return
        if os.fstat(self._samples).st_size:
            raise InputError(
                f"{self.path} holds an experiment already",
                f"choose another directory with --out, remove that one, or go on with it: --resume {self.path}",
            )
        self._veil, self._programs = Veil(masks or Masks()), Programs(self._question)
        self._write_question()

    def _write_question(self) -> None:
        masked = masked_question(self._question, self._veil.masks)
        self._save_secrets()
        write_within(self.path, "question.json", self._in_lines(masked))

    def _in_lines(self, masked: dict[str, Any]) -> str:
        """As `json.dumps` with an indent of 1; what stands in it as before, as a large machine does, is not spelled again."""
        for name, value in masked.items():
            if name not in self._spelled or self._spelled[name][0] is not value:
                self._spelled[name] = value, json.dumps(value, indent=1).replace("\n", "\n ")
        parts = (f" {json.dumps(name)}: {self._spelled[name][1]}" for name in masked)
        return "{\n" + ",\n".join(parts) + "\n}"

    def _save_secrets(self) -> None:
        """What was masked is kept before the first text that needs it."""
        used = self._veil.masks.used
        if used.keys() - self._saved:
            try:
                write_secrets(self.path, used)
            except OSError as problem:
                raise store_error(self.path / SECRETS, problem) from problem
            self._saved = set(used)

    def masked(self, text: str) -> str:
        """A text as it may be written next to the experiment's own files."""
        made: str = self._veil.masks.masked(text)
        self._save_secrets()
        return made

    def amend(self, more: dict[str, Any]) -> None:
        """Add to the question what is known only after the first run."""
        self._question = {**self._question, **more}
        self._write_question()

    def add(self, record: Record, setting: Setting) -> None:
        """Append a sample, and its setting where it is new. Raises StoreError (disk full …); what was there stays whole."""
        lines: list[dict[str, Any]] = []
        if record.setting not in self._known:
            lines.append(self._veil.setting(setting))
        if program := self._programs.changed(setting):
            lines.append({"type": "changed", "program": self._veil.masks.masked(program)})
        # a line that is gone is known by it
        lines.append({**self._veil.sample(record), "number": self._number})
        self._append("".join(json.dumps(line) + "\n" for line in lines))
        self._known.add(record.setting)
        self._number += 1
        self.measured = True

    def know(self, setting: Setting) -> None:
        """Write a setting's line where a damaged file has lost it. Raises StoreError."""
        if setting.key not in self._known:
            self._append(json.dumps(self._veil.setting(setting)) + "\n")
            self._known.add(setting.key)

    def judge(self) -> AnswerJudge | None:
        """Who judges the answers of the runs, where the question asks for it; continued where it was left."""
        path = self.path / _REFERENCE
        kept = None
        with contextlib.suppress(OSError, ValueError):
            kept = self._veil.masks.revealed(read_bounded(path).decode("utf-8", "surrogateescape"))
        return judge_of(self._question, kept)

    def keep_reference(self, text: str) -> None:
        """Store the answer that others are compared with, for a continuation. Raises StoreError."""
        veiled = self._veil.masks.veiled(text)
        self._save_secrets()
        write_within(self.path, _REFERENCE, veiled.encode("utf-8", "surrogateescape"))

    def add_difference(self, at: int, differs: str) -> None:
        """Append what was seen of the sample of that number (from 0) only after it had been written."""
        self._append(json.dumps({"type": "differs", "sample": at, "differs": self._veil.masks.veiled(differs)}) + "\n")

    def add_plan(self, plan: Plan) -> None:
        """Append the plan of a comparison that decides; the last one counts."""
        self._append(json.dumps(self._veil.plan(plan)) + "\n")

    def _append(self, text: str) -> None:
        self._save_secrets()
        data = text.encode()
        own = os.fstat(self._samples)
        start = own.st_size
        path = self.path / "samples.jsonl"
        try:
            there = os.stat(path)  # noqa: PTH116 - once a run
        except OSError:
            there = None
        gone = there is None or (there.st_dev, there.st_ino) != (own.st_dev, own.st_ino)
        if gone or start < self._least:
            what = "taken away" if gone else "cut off"
            raise StoreError(
                f"{path} was {what} while it was being written", "what was measured into it is gone; measure again"
            )
        if start > self._least > 0 and os.pread(self._samples, 1, start - 1) != b"\n":
            # something else wrote into it, and its last line would be joined to this one
            data = b"\n" + data
        if not (self.path / "question.json").exists():
            # without it nobody knows what the samples are of
            self._write_question()
        try:
            # a first part may still have found room; what is in the way of the rest says why
            while data:
                data = data[os.write(self._samples, data) :]
            self._least = os.fstat(self._samples).st_size
        except OSError as problem:
            # who may no longer write may not cut off either; a line that has no end is passed over
            with contextlib.suppress(OSError):
                os.ftruncate(self._samples, start)
            raise store_error(self.path / "samples.jsonl", problem) from problem

    def note_neighbours(self) -> list[Neighbour]:
        """Append who else measures on this machine now, each once; all that were seen. Raises StoreError."""
        for one in dict.fromkeys(self._running.others()):
            if one not in self._seen:
                self._seen.append(one)
                self._append(json.dumps({"type": "neighbour", **self._veil.masks.masked(asdict(one))}) + "\n")
        return self._seen

    def end_runs(self) -> None:
        """No more runs are made: what is left is to judge them, and to say what came of it."""
        _MEASURED.add(self.path.absolute())

    def store_result(self, result: dict[str, Any]) -> None:
        """Store what was found, and was not read from the records. Raises StoreError."""
        self._write_result(self._veil.masks.masked(result))

    def _write_result(self, masked: dict[str, Any]) -> None:
        self._save_secrets()
        write_within(self.path, "verdict.json", json.dumps(masked, indent=1))

    def conclude(self, verdict: dict[str, Any]) -> list[str]:
        """Store a verdict that can be worked out again from the samples; what is to be reported where that fails."""
        try:
            # it was read from the records: there are masks in it already
            self._write_result(self._veil.masks.veiled(verdict, within=True))
        except StoreError as problem:
            return [f"{problem.what}; `nodewise report` works the answer out again from the runs"]
        return []

    def discard(self) -> None:
        """Take back what was made for an experiment in which nothing was measured; whatever was there before stays."""
        # a second Ctrl-C in the midst of it would leave a folder that is no experiment
        with deaf():
            for name in ("question.json", "samples.jsonl", SECRETS, _REFERENCE):
                (self.path / name).unlink(missing_ok=True)
            for name in ("builds", "launch", CALLS):
                shutil.rmtree(self.path / name, ignore_errors=True)
            self._take_back_folders()

    def give_up(self) -> None:
        """Discard what was made, but an experiment that was there before stays."""
        if self.earlier is None:
            self.discard()

    def _take_back_folders(self) -> None:
        with contextlib.suppress(OSError):
            for folder in self._made:
                if folder.exists():
                    folder.rmdir()

    def close(self) -> None:
        """Give the directory up to other writers."""
        self._running.leave()
        os.close(self._samples)

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_question(path: Path, through: Through | None = None) -> dict[str, Any]:
    """The question of the experiment in a directory, checked. Raises InputError where there is none, or it is damaged."""
    return _read_question(path, through)[0]


def _read_question(path: Path, through: Through | None) -> tuple[dict[str, Any], list[str]]:
    """The question, and what of it is damaged and was left out."""
    hint = "name the folder of an experiment, which holds its report"
    if not path.is_dir():
        raise InputError(f"{path} is a file" if path.exists() else f"no such directory: {path}", hint)
    file = path / "question.json"
    try:
        question = parse_json(read_bounded(file))
        schema = question.get("nodewise_experiment") if isinstance(question, dict) else None
        if isinstance(schema, int) and schema != SCHEMA:
            raise InputError(
                f"{path} has schema {schema}, this nodewise reads {SCHEMA}",
                "read it with the nodewise that wrote it",
            )
        if schema is None:
            raise ShapeError("nodewise_experiment", "it is missing")
        kept, lost = check_question(question)
        if through is not None:
            kept, _ = check_question(through.question(kept))
    except FileNotFoundError as problem:
        raise InputError(f"{path} holds no experiment (no question.json)", what_it_holds(path) or hint) from problem
    except OSError as problem:
        raise InputError(f"{file} cannot be read: {problem.strerror}") from problem
    except ValueError as problem:
        raise InputError(f"{file} is damaged: {problem}", "put back a copy of it, or measure again") from problem
    return kept, [f"question.json: {problem}" for problem in lost]


def read_experiment(path: Path, judged: bool = True, through: Through | None = None) -> Experiment:
    """Read a directory that `Writer` wrote, on this or another machine. Raises InputError where it is not one.

    What of it is damaged is left out, and named in `Experiment.damage`. Without `judged` it is as it was written: a run
    whose answer differs from the reference's is not judged yet, and runs of a setting whose own line is lost are there.
    Secrets are masked in it, but where it is led through `Revealed`.
    """
    question, lost = _read_question(path, through)
    try:
        lines = read_lines(path / "samples.jsonl", through=through)
        if judged and lines.orphans:
            # rare enough to read all once more
            lines = read_lines(path / "samples.jsonl", frozenset(lines.settings), through)
    except (OSError, ValueError) as problem:
        what = problem.strerror if isinstance(problem, OSError) else problem
        raise InputError(f"{path / 'samples.jsonl'} cannot be read: {what}") from problem
    experiment = Experiment(
        path,
        question,
        lines.settings,
        lines.records,
        lines.plans,
        damaged_lines=lines.damaged,
        whole_bytes=lines.whole_bytes,
        damage=[*lost, *lines.remarks()],
        neighbours=lines.neighbours,
        masks=through.masks if isinstance(through, Revealed) else None,
        changed=lines.changed_notes(),
        next_number=lines.next_number,
    )
    if judged:
        judge_records(experiment)
    # the verdict is worked out again from the samples: a damaged one costs only how it ended
    with contextlib.suppress(OSError, ValueError):
        verdict = parse_json(read_bounded(path / "verdict.json"))
        experiment.verdict = verdict if isinstance(verdict, dict) else None
    return experiment
