# SPDX-License-Identifier: BSD-3-Clause
"""Rows of the benchmark: kept in a file to which each is appended as it comes, and drawn as a table."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_SLACK = 0.02
_CURED = 1.10
_LOUD = 0.05


@dataclass(frozen=True)
class Row:
    """What became of one case. Seconds in s; ratios say how many times faster than as started now.

    `promised` and `repeated` are (ratio, low, high); `repeated` is None where nothing was promised, `cured` where no gain
    is known. `others` is the share of the processors that other work took during the repetition. `problem` says what kept the case from being tried, or the promise from being repeated.
    """

    program: str
    case: str
    load: str
    budget: str
    code: str
    processor: str
    axes: str
    tune: str = ""
    command: str = ""
    known: str = ""
    verdict: str = ""
    line: str = ""
    promised: tuple[float, float, float] | None = None
    repeated: tuple[float, float, float] | None = None
    cured: tuple[float, float, float] | None = None
    seconds: float | None = None
    runs: int = 0
    wall_s: float = 0.0
    reason: str = ""
    problem: str = ""
    times: dict[str, list[float]] | None = None
    others: float | None = None

    @property
    def key(self) -> tuple[str, ...]:
        """What another row must differ in to be another measurement."""
        return (self.program, self.case, self.load, self.budget, self.tune, self.code, self.processor)

    @property
    def is_promise(self) -> bool:
        """Whether tune said `faster`."""
        return self.verdict == "faster" and self.promised is not None

    @property
    def holds(self) -> bool:
        """Whether the repeated ratio lies in the promised interval, give or take 2 %."""
        if self.promised is None or self.repeated is None:
            return False
        _, low, high = self.promised
        return low * (1 - _SLACK) <= self.repeated[0] <= high * (1 + _SLACK)

    @property
    def reversed(self) -> bool:
        """Whether what was promised to be faster is slower."""
        return self.repeated is not None and self.repeated[0] < 1

    @property
    def found(self) -> bool:
        """Whether a gain that is known was found: promised, and repeated within 10 % of what the cure brings."""
        return bool(self.is_promise and self.repeated and self.cured and self.repeated[0] * _CURED >= self.cured[0])

    @property
    def is_known(self) -> bool:
        """Whether a gain is there: said by construction, and seen in the repetition (beyond 2 %)."""
        return self.cured is not None and self.cured[1] > 1 + _SLACK


def code_now() -> str:
    """A short name of the tuner as it is now: all of its sources."""
    whole = hashlib.sha256()
    for folder in ("src", "native"):
        for path in sorted((_ROOT / folder).rglob("*")):
            if path.suffix in {".py", ".toml", ".cpp", ".h"}:
                whole.update(path.read_bytes())
    return whole.hexdigest()[:10]


def processor_now() -> str:
    """The processor's name, with how many of them may be used."""
    names = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    return f"{names[0] if names else 'unknown processor'} × {len(os.sched_getaffinity(0))}"


def append(path: Path, row: Row) -> None:
    """Add a row to the file, on the disk before this returns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as out:
        out.write(json.dumps(asdict(row)) + "\n")
        out.flush()
        os.fsync(out.fileno())


def read(path: Path) -> list[Row]:
    """The rows of the file, the last of each key; none where there is no such file. Torn lines are skipped."""
    rows: dict[tuple[str, ...], Row] = {}
    known = {f.name for f in fields(Row)}
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            data = json.loads(line)
        except ValueError:
            continue
        row = Row(**{k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k in known})
        rows.pop(row.key, None)
        rows[row.key] = row
    return list(rows.values())


def _told(found: tuple[float, float, float] | None) -> str:
    return f"{found[0]:.3f}× ({found[1]:.3f}–{found[2]:.3f})" if found else ""


def row_text(row: Row) -> str:
    """A row of the table."""
    name = f"{row.program}: {row.case}" + (" [hog]" if row.load == "hog" else "")
    if not row.is_promise:
        said = row.problem or f"{row.verdict}{': ' if row.reason else ''}{row.reason}"
        known = f"; known gain {_told(row.cured)} not found" if row.is_known else ""
        return f"{name:<44}{row.axes:<22}{_seconds(row):>8}  {said}{known}"
    marks = ["holds" if row.holds else "DOES NOT HOLD", *(["REVERSED"] if row.reversed else [])]
    if row.is_known:
        marks.append(f"known gain {_told(row.cured)} {'found' if row.found else 'NOT FOUND'}")
    if row.others is not None and row.others > _LOUD:
        marks.append(f"repeated beside other work ({row.others:.0%} of the processors)")
    repeated = _told(row.repeated) or row.problem
    return f"{name:<44}{row.axes:<22}{_seconds(row):>8}  {_told(row.promised):<24}{repeated:<24}{', '.join(marks)}"


def _seconds(row: Row) -> str:
    return f"{row.seconds:.2f} s" if row.seconds else ""


def heading() -> str:
    """The names of the columns."""
    return f"{'program: case':<44}{'axes':<22}{'now':>8}  {'promised (interval)':<24}{'repeated (interval)':<24}"


def summary(rows: Iterable[Row]) -> list[str]:
    """Lines that count: promises that hold, quiet and beside a hog, and known gains."""
    rows = list(rows)
    lines = []
    for load, where in (("quiet", "tuned on the quiet machine"), ("hog", "tuned beside a hog, repeated quietly")):
        here = [row for row in rows if row.load == load]
        if here:
            lines.append(f"{where}: {_counted(here)}")
    known = [row for row in rows if row.is_known and row.load == "quiet"]
    if known:
        missed = [f"{row.program}: {row.case}" for row in known if not row.found]
        lines.append(
            f"known gains found: {len(known) - len(missed)} of {len(known)}"
            + (f"; not {', '.join(missed)}" if missed else "")
        )
    absent = sorted({f"{row.program} ({row.problem})" for row in rows if not row.verdict})
    if absent:
        lines.append(f"not tried: {'; '.join(absent)}")
    return lines


def _counted(rows: Sequence[Row]) -> str:
    promises = [row for row in rows if row.is_promise]
    holding = sum(row.holds for row in promises)
    share = f" ({holding / len(promises):.0%})" if promises else ""
    others: dict[str, int] = {}
    for row in rows:
        if row.verdict and not row.is_promise:
            others[row.verdict] = others.get(row.verdict, 0) + 1
    rest = "".join(f", {count} {word}" for word, count in sorted(others.items()))
    return (
        f"{sum(bool(r.verdict) for r in rows)} tunes, {len(promises)} promises, {holding} hold{share}, "
        f"{sum(r.reversed for r in promises)} reversed{rest}"
    )
