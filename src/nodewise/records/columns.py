# SPDX-License-Identifier: BSD-3-Clause
"""The samples of an experiment in columns: a hundred thousand of them fit in some tens of megabytes."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from nodewise.base.escaping import one_line
from nodewise.base.frozen import dataclass
from nodewise.base.shapes import ShapeError, fit, shown
from nodewise.runner.objective import Objective
from nodewise.runner.ranks import rank_from_json
from nodewise.runner.sample import Sample, sample_from_json

#: What is numbers by name in a sample; each name is a column.
_GROUPS = ("metrics", "usage", "conditions")
_PLAIN = ("seconds", "wall_s", "started_at")
#: What few samples have, or what is long: kept as text until it is asked for.
_REST: Mapping[str, Any] = {
    "marks": tuple[str, ...],
    "error": str,
    "output": str,
    "cut_off": bool,
    "differs": str,
}
#: The phase of runs that are not counted.
WARM_UP = "warm-up"
#: A phase and a source take up a byte each.
_MOST_KINDS = 100
_LARGEST_COUNT = (1 << 31) - 1


@dataclass(frozen=True)
class Record:
    """One sample in its place: which setting, in which phase of the search (`search`, `confirm`), block and position.

    `spent_s` is how much of the budget was spent once it was there, in seconds.
    """

    setting: str
    phase: str
    block: int
    position: int
    sample: Sample
    spent_s: float = 0.0


class Records(Sequence[Record]):
    """Records in the order they were taken. Each is put together when it is asked for; whoever needs many asks for columns."""

    def __init__(self) -> None:
        self._settings: dict[str, int] = {}
        self._phases: dict[str, int] = {}
        self._setting = array("i")
        self._phase = array("b")
        self._block = array("i")
        self._position = array("i")
        self._spent = array("d")
        self._plain = {name: array("d") for name in _PLAIN}
        self._named: dict[str, dict[str, array[float]]] = {group: {} for group in _GROUPS}
        self._sources: dict[str, int] = {}
        self._source = array("b")
        self._answers: dict[str, int] = {}
        self._digests: list[str] = []
        self._answer = array("i")
        self._late: dict[int, dict[str, Any]] = {}
        self._rest = bytearray()
        self._rest_ends = array("q", [0])
        self._failed = array("b")
        self._marked = array("b")
        self._index: dict[str, npt.NDArray[np.int64]] | None = None

    def append(self, line: Mapping[str, Any]) -> None:
        """Add what `Writer` wrote of a sample. Raises ShapeError where it is no such line; then nothing is added."""
        plain = [_number(line, name) for name in _PLAIN]
        place = (
            one_line(_text(line, "setting")),
            _text(line, "phase"),
            _count(line, "block"),
            _count(line, "position"),
        )
        spent = _number(line, "spent_s", 0.0)
        source = _text(line, "source", "wall")
        named = [(g, one_line(n), v) for g in _GROUPS if g in line for n, v in _numbers(line, g)]
        rest = {k: fit(line[k], shape, k) for k, shape in _REST.items() if line.get(k)}
        if line.get("ranks"):
            rest["ranks"] = [rank_from_json(part).to_json() for part in fit(line["ranks"], list[Any], "ranks")]
        answer = _text(line, "answer", "")
        if "error" not in rest and plain[0] <= 0:
            raise ShapeError("seconds", "a number above zero is needed")
        for kinds, kind in ((self._phases, place[1]), (self._sources, source)):
            if kind not in kinds and len(kinds) >= _MOST_KINDS:
                raise ShapeError(
                    "phase" if kinds is self._phases else "source", f"there are more than {_MOST_KINDS} of them"
                )
        text = json.dumps(rest).encode() if rest else b""
        count = len(self._setting)
        for name, value in zip(_PLAIN, plain, strict=True):
            self._plain[name].append(value)
        self._setting.append(self._settings.setdefault(place[0], len(self._settings)))
        self._phase.append(self._phases.setdefault(place[1], len(self._phases)))
        self._block.append(place[2])
        self._position.append(place[3])
        self._spent.append(spent)
        self._source.append(self._sources.setdefault(source, len(self._sources)))
        self._answer.append(self._code_of(answer))
        if "differs" in rest:
            self._late[count] = {"differs": rest["differs"]}
        self._rest += text
        self._rest_ends.append(len(self._rest))
        for group, name, value in named:
            _put(self._named[group], name, value, count)
        self._failed.append(rest.get("error") is not None)
        self._marked.append(bool(rest.get("marks")))
        self._index = None

    def _code_of(self, answer: str) -> int:
        if answer and answer not in self._answers:
            self._answers[answer] = len(self._digests)
            self._digests.append(answer)
        return self._answers.get(answer, -1)

    def __len__(self) -> int:
        return len(self._setting)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> list[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | list[Record]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        at = range(len(self))[index]
        groups: dict[str, dict[str, float]] = {g: {} for g in _GROUPS}
        for group, columns in self._named.items():
            for name, column in columns.items():
                if at < len(column) and not math.isnan(column[at]):
                    groups[group][name] = column[at]
        plain = {name: self._plain[name][at] for name in _PLAIN}
        shared = {"source": list(self._sources)[self._source[at]]}
        if self._answer[at] >= 0:
            shared["answer"] = self._digests[self._answer[at]]
        sample = sample_from_json({**plain, **groups, **shared, **self._rest_of(at)})
        place = (self.keys[self._setting[at]], self.phases[self._phase[at]], self._block[at], self._position[at])
        return Record(*place, sample, self._spent[at])

    def _rest_of(self, at: int) -> dict[str, Any]:
        text = self._rest[self._rest_ends[at] : self._rest_ends[at + 1]]
        return {**(json.loads(text) if text else {}), **self._late.get(at, {})}

    def __iter__(self) -> Iterator[Record]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def keys(self) -> list[str]:
        """The settings' keys in the order of their first run; `codes` are indices into it."""
        return list(self._settings)

    @property
    def phases(self) -> list[str]:
        """The phases in the order of their first run."""
        return list(self._phases)

    def of(self, key: str, phase: str | None = None) -> npt.NDArray[np.int64]:
        """Indices of one setting's records, ascending, in one phase or in all."""
        if self._index is None:
            codes = self.codes
            order = np.argsort(codes, kind="stable")
            ends = np.searchsorted(codes[order], np.arange(len(self._settings) + 1))
            self._index = {k: order[ends[i] : ends[i + 1]] for k, i in self._settings.items()}
        found: npt.NDArray[np.int64] = self._index.get(key, np.zeros(0, np.int64))
        if phase is None or not found.size:
            return found
        inside: npt.NDArray[np.int64] = found[self.in_phase(phase)[found]]
        return inside

    @property
    def ok(self) -> npt.NDArray[np.bool_]:
        """Whether each run ended well."""
        failed: npt.NDArray[np.bool_] = np.array(self._failed, dtype=bool)
        return ~failed

    @property
    def marked(self) -> npt.NDArray[np.bool_]:
        """Whether something spoiled the run."""
        return np.array(self._marked, dtype=bool)

    @property
    def codes(self) -> npt.NDArray[np.int64]:
        """The setting of each record, as an index into `keys`."""
        return np.array(self._setting, dtype=np.int64)

    @property
    def phase_codes(self) -> npt.NDArray[np.int64]:
        """The phase of each record, as an index into `phases`."""
        return np.array(self._phase, dtype=np.int64)

    def in_phase(self, phase: str) -> npt.NDArray[np.bool_]:
        """Whether each record is of that phase."""
        inside: npt.NDArray[np.bool_] = self.phase_codes == self._phases.get(phase, -1)
        return inside

    @property
    def blocks(self) -> npt.NDArray[np.int64]:
        """The block of each record."""
        return np.array(self._block, dtype=np.int64)

    @property
    def spent_s(self) -> float:
        """How much of the budget was spent after the last record, in seconds; 0 where it does not say."""
        return self._spent[-1] if self._spent else 0.0

    def plain(self, name: str) -> npt.NDArray[np.float64]:
        """`seconds`, `wall_s` or `started_at` of each record. Raises KeyError."""
        return np.array(self._plain[name], dtype=float)

    @property
    def named(self) -> list[tuple[str, str]]:
        """The columns of numbers by name, as group (`metrics`, `usage`, `conditions`) and name."""
        return [(group, name) for group, columns in self._named.items() for name in columns]

    def column(self, group: str, name: str) -> npt.NDArray[np.float64]:
        """One column of numbers; NaN where a record has none of it. Raises KeyError."""
        found = np.array(self._named[group][name], dtype=float)
        missing = len(self) - found.size
        return np.concatenate([found, np.full(missing, np.nan)]) if missing else found

    def marks(self, at: int) -> tuple[str, ...]:
        """What spoiled one run, in words."""
        return tuple(self._rest_of(at).get("marks", ()))

    @property
    def answer_codes(self) -> npt.NDArray[np.int64]:
        """A number for the answer of each record, the same for the same answer; -1 where none was looked at, or it failed."""
        return np.array(self._answer, dtype=np.int64)

    def differing(self) -> Iterator[tuple[int, str]]:
        """The records whose answer is not the reference's, ascending, and where it differs."""
        for at in sorted(self._late):
            if "differs" in self._late[at]:
                yield at, str(self._late[at]["differs"])

    def add_difference(self, at: int, differs: str) -> None:
        """What was seen of a record's answer only after it had been written. Raises IndexError where there is no such one."""
        self._late.setdefault(range(len(self))[at], {})["differs"] = differs

    def fail(self, at: int, error: str) -> None:
        """Make a failure of a record that ended well."""
        if not self._failed[at]:
            self._late.setdefault(at, {})["error"] = error
            self._failed[at] = 1

    def failures(self) -> dict[str, int]:
        """For each setting that ever failed the index of its last failure."""
        keys = self.keys
        return {keys[self._setting[int(i)]]: int(i) for i in np.flatnonzero(~self.ok)}

    def costs(self, objective: Objective) -> npt.NDArray[np.float64]:
        """The cost of each record (`Objective.cost`); NaN where it failed or reports none."""
        values = self.values(objective.metric)
        values = np.where(self.ok & (values > 0), values, np.nan)
        return 1 / values if objective.maximise else values

    def values(self, metric: str) -> npt.NDArray[np.float64]:
        """A number of each record by its name, as `runner.objective.value_of` reads it; NaN where a record has none of it."""
        if metric.endswith("/s") and metric != "/s":
            seconds = self.plain("seconds")
            return self.values(metric.removesuffix("/s")) / np.where(seconds > 0, seconds, np.nan)
        if metric in ("seconds", "wall_s"):
            return self.plain(metric)
        if metric == "cpu_s":
            return self._counted("user_s") + self._counted("system_s")
        found = np.full(len(self), np.nan)
        for group in _GROUPS:
            if metric in self._named[group]:
                found = np.where(np.isnan(found), self.column(group, metric), found)
        return found

    def _counted(self, name: str) -> npt.NDArray[np.float64]:
        """What the kernel counted of each record, whatever the program prints of that name."""
        return self.column("usage", name) if name in self._named["usage"] else np.full(len(self), np.nan)


def _put(columns: dict[str, array[float]], name: str, value: float, at: int) -> None:
    """Set a column's value for the record of that index, the last one.

    Counts, sizes and zeros are what most columns hold: these need half the room, as long as no value loses a digit by it.
    """
    column = columns.get(name)
    if column is None:
        column = columns[name] = array("f")
    if len(column) < at:
        column.extend([math.nan] * (at - len(column)))
    column.append(value)
    if column[-1] != value and column.typecode == "f" and not math.isnan(value):
        columns[name] = array("d", column)
        columns[name][-1] = value


def _number(line: Mapping[str, Any], name: str, usual: float | None = None) -> float:
    value = line.get(name, usual)
    # by type, which is quicker than a shape: there may be millions of them
    if type(value) is not float and type(value) is not int:
        raise ShapeError(name, f"a number is needed, not {shown(value)}" if name in line else "it is missing")
    return float(value)


def _count(line: Mapping[str, Any], name: str) -> int:
    value = line.get(name)
    if type(value) is not int or not 0 <= value <= _LARGEST_COUNT:
        raise ShapeError(name, f"a whole number is needed, not {shown(value)}" if name in line else "it is missing")
    return value


def _text(line: Mapping[str, Any], name: str, usual: str | None = None) -> str:
    value = line.get(name, usual)
    if not isinstance(value, str):
        raise ShapeError(name, f"a text is needed, not {shown(value)}" if name in line else "it is missing")
    return value


def _numbers(line: Mapping[str, Any], group: str) -> Iterator[tuple[str, float]]:
    values = line[group]
    if not isinstance(values, Mapping):
        raise ShapeError(group, f"an object is needed, not {shown(values)}")
    for name, value in values.items():
        # null is what no number is written as
        if value is not None:
            yield name, _number(values, name)
