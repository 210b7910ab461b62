# SPDX-License-Identifier: BSD-3-Clause
"""The lines of `samples.jsonl`, read and checked: settings, samples, plans, and the notes on them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypedDict

from nodewise.base.bounded_json import open_regular, parse_json
from nodewise.base.escaping import one_line, visible
from nodewise.base.frozen import dataclass
from nodewise.base.shapes import Count, ShapeError, Within, fit
from nodewise.records.columns import Records
from nodewise.records.secret_file import Through
from nodewise.runner.setting import Setting, setting_from_json

#: No line is as long, whatever a program prints.
_LONGEST_LINE = 16 << 20
#: The most damaged places that are named one by one.
_MOST_NAMED = 5
#: How many experiments that ran at the same time are.
_MOST_NEIGHBOURS = 3


@dataclass(frozen=True)
class Plan:
    """The comparison that decides, fixed before its first run: `candidate` against the baseline in fresh blocks.

    `looks` are the numbers of blocks after which it may stop, `alpha` the error rate of them all; `ablations` name, for
    an axis, the setting that is the candidate with that axis as in the baseline. `axes` are all that the candidate changes and
    can do without, of which some may never run put back.
    """

    candidate: str
    looks: tuple[Annotated[int, Within(1)], ...]
    alpha: Annotated[float, Within(0, 1, above=0)]
    ablations: dict[str, str]
    axes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Neighbour:
    """Another experiment that ran on this machine at the same time: its process, whose it is, what it is and where it is kept."""

    pid: int
    user: str
    kind: str
    directory: str

    def __str__(self) -> str:
        named = f"nodewise {self.kind} of {self.user} (process {self.pid})"
        # what ended with an error has left nothing
        return f"{named}, kept in {visible(self.directory)}" if Path(self.directory).is_dir() else named


def ran_meanwhile(neighbours: Sequence[Neighbour]) -> list[str]:
    """What is to be said of a result that was measured at the same time as others: a sentence, none where there were none."""
    if not neighbours:
        return []
    named = [str(neighbour) for neighbour in neighbours[:_MOST_NEIGHBOURS]]
    if more := len(neighbours) - len(named):
        named.append(f"{more} more")
    others = "another experiment" if len(neighbours) == 1 else f"{len(neighbours)} other experiments"
    return [f"{others} ran on this machine meanwhile: {'; '.join(named)}"]


class _Late(TypedDict):
    sample: int
    differs: str


class Lines:
    """What the lines hold, put together one by one; `damaged` of them could not be read.

    With `known` settings samples of others are left out: of these nothing is known but a name. `whole_bytes` is how much of
    the file is whole lines.
    """

    def __init__(self, known: frozenset[str] | None = None, through: Through | None = None):
        self._through = through
        self.settings: dict[str, Setting] = {}
        self.records = Records()
        self.plans: list[Plan] = []
        self.neighbours: list[Neighbour] = []
        #: For each program that was another file from some run on, how many runs there were before, each time.
        self._changed: dict[str, list[int]] = {}
        self.damaged = 0
        self.whole_bytes = 0
        #: What the next sample is to be numbered, and how many numbers no sample bears: their lines are gone.
        self.next_number = 0
        self._missing = 0
        self._known = known
        self._number = 0
        self._problems: list[str] = []
        #: For each sample of the file where it came to be; None for one that was left out.
        self._places: list[int | None] = []
        self._left_out: dict[str, int] = {}
        self._latest = -math.inf
        #: What was taken, once a sample is no later than all before it; None until then.
        self._seen: set[tuple[Any, ...]] | None = None

    @property
    def orphans(self) -> bool:
        """Whether there are samples, or plans, of settings whose own line is lost."""
        named = {*self.records.keys, *(key for p in self.plans for key in (p.candidate, *p.ablations.values()))}
        return not self.settings.keys() >= named

    def take(self, text: bytes) -> None:
        """Add one line."""
        self._number += 1
        problem = self._problem_of(text)
        if problem is not None:
            self.damaged += 1
            if len(self._problems) < _MOST_NAMED:
                self._problems.append(f"line {self._number}: {problem}")
        if problem is None or text.endswith(b"\n"):
            self.whole_bytes += len(text)

    def _problem_of(self, text: bytes) -> str | None:
        """What is wrong with a line; None where it was taken."""
        if len(text) >= _LONGEST_LINE:
            return f"it is longer than {_LONGEST_LINE} bytes"
        try:
            line = parse_json(text)
            if not isinstance(line, dict):
                raise ShapeError("", "it is no object")
            self._take(line if self._through is None else self._through.line(line))
        except ValueError as problem:
            return str(problem)
        return None

    def _take(self, line: dict[str, Any]) -> None:
        kind = fit(line.get("type"), str, "type")
        if kind == "sample":
            name = one_line(fit(line.get("setting"), str, "setting"))
            number: int = fit(line.get("number", self.next_number), Count, "number")
            self._check_new(line)
            left_out = self._known is not None and name not in self._known
            if left_out:
                self._left_out[name] = self._left_out.get(name, 0) + 1
            else:
                self.records.append(line)
            self._places.append(None if left_out else len(self.records) - 1)
            self._missing += max(0, number - self.next_number)
            self.next_number = max(number, self.next_number) + 1
        elif kind == "setting":
            setting = setting_from_json(line)
            self.settings[setting.key] = setting
        elif kind == "differs":
            self._take_difference(fit(line, _Late))
        elif kind == "plan":
            plan: Plan = _in_one_line(fit(line, Plan))
            if not plan.looks or list(plan.looks) != sorted(set(plan.looks)):
                raise ShapeError("looks", "they are no numbers that grow")
            # going on from a file writes its plans once more
            if plan not in self.plans:
                self.plans.append(plan)
        elif kind == "changed":
            self._changed.setdefault(one_line(fit(line.get("program"), str, "program")), []).append(len(self._places))
        elif kind == "neighbour":
            neighbour: Neighbour = fit(line, Neighbour)
            if neighbour not in self.neighbours:
                self.neighbours.append(neighbour)

    def _check_new(self, line: dict[str, Any]) -> None:
        """Raises ShapeError for a sample that was there before, as where a file was joined to itself: it is no further run."""
        started = line.get("started_at")
        if not isinstance(started, float) or started > self._latest:
            self._latest = started if isinstance(started, float) else self._latest
            if self._seen is not None:
                self._seen.add(_run_of(line))
            return
        if self._seen is None:
            self._seen = {
                (r.setting, r.phase, r.block, r.position, r.sample.started_at, r.sample.seconds)
                for r in (self.records[i] for i in range(len(self.records)))
            }
        if (run := _run_of(line)) in self._seen:
            raise ShapeError("", "it is a repetition of one before it")
        self._seen.add(run)

    def _take_difference(self, late: _Late) -> None:
        if not 0 <= late["sample"] < len(self._places):
            raise ShapeError("sample", f"there is no sample {late['sample']}")
        place = self._places[late["sample"]]
        # with a line lost it is not sure which one is meant
        if not self.damaged and not self._missing and place is not None:
            self.records.add_difference(place, late["differs"])

    def forget_unknown_plans(self) -> None:
        """Let go of plans, and of parts of them, that are of settings nothing is known of."""
        known = self.settings.keys()
        self.plans = [
            replace(plan, ablations={axis: key for axis, key in plan.ablations.items() if key in known})
            for plan in self.plans
            if plan.candidate in known
        ]

    def changed_notes(self) -> list[str]:
        """A sentence on each program that was another file from some run on."""
        notes = []
        for name, counts in list(self._changed.items())[:_MOST_NAMED]:
            runs = f"{counts[0]} of {len(self._places)} runs"
            more = f", and {len(counts) - 1} more time{'s' * (len(counts) > 2)}" if len(counts) > 1 else ""
            notes.append(f"{name} was another file after {runs}{more}: what is said is of both together")
        return notes

    def remarks(self) -> list[str]:
        """What could not be read, in words."""
        remarks = []
        if self.damaged:
            lines = f"{self.damaged} damaged line{'s were' if self.damaged > 1 else ' was'} skipped"
            more = f"; and {self.damaged - _MOST_NAMED} more" if self.damaged > _MOST_NAMED else ""
            remarks.append(f"samples.jsonl: {lines}: {'; '.join(self._problems)}{more}")
        # what could not be read has no number, either
        if (missing := self._missing - self.damaged) > 0:
            runs = f"the lines of {missing} runs are" if missing > 1 else "the line of 1 run is"
            remarks.append(f"samples.jsonl: {runs} missing: what is said is without them")
        for name, count in list(self._left_out.items())[:_MOST_NAMED]:
            runs = f"{count} run{'s' * (count != 1)}"
            remarks.append(
                f"samples.jsonl: it has lost the line of the setting {name!r}, of which {runs} cannot be used"
            )
        return remarks


def _run_of(line: dict[str, Any]) -> tuple[Any, ...]:
    """What no two runs have in common."""
    values = (line.get(n) for n in ("setting", "phase", "block", "position", "started_at", "seconds"))
    return tuple(v if isinstance(v, str | int | float) else None for v in values)


def _in_one_line(plan: Plan) -> Plan:
    """Settings by the names that their keys are."""
    ablations = {axis: one_line(key) for axis, key in plan.ablations.items()}
    return replace(plan, candidate=one_line(plan.candidate), ablations=ablations)


def read_lines(path: Path, known: frozenset[str] | None = None, through: Through | None = None) -> Lines:
    """The lines of a file; none where there is no file. Raises OSError; ValueError where it is no regular file."""
    lines = Lines(known, through)
    try:
        for text in _texts(path):
            lines.take(text)
    except FileNotFoundError:
        return lines
    if known is not None:
        lines.forget_unknown_plans()
    return lines


def _texts(path: Path) -> Iterator[bytes]:
    with open_regular(path) as file:
        while text := file.readline(_LONGEST_LINE):
            yield text
