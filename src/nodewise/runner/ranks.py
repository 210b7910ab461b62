# SPDX-License-Identifier: BSD-3-Clause
"""Ranks: what each rank of a run was and did, as nodewise-rank wrote it down, and what that makes of the run."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, TypedDict, get_args

from nodewise.base.bounded_json import parse_json
from nodewise.base.errors import InputError
from nodewise.base.escaping import one_line
from nodewise.base.frozen import dataclass
from nodewise.base.processors import format_processors, parse_processors
from nodewise.base.shapes import ShapeError, fit
from nodewise.placement.memory import MODES
from nodewise.runner.protocol import Reported, read_metrics, read_protocol

#: What becomes of the ranks' numbers of one name.
Over = Literal["max", "min", "mean", "sum"]
#: Work is shared among the ranks.
WORK = ("flops", "bytes", "items", "work")
#: How much of what a failed rank printed on standard error is reported.
_SHOWN = 300
#: The most ranks that are named one by one.
_MOST_NAMED = 8


@dataclass(frozen=True)
class RankPart:
    """One rank's part of a run.

    `allowed` are the processors that it might use, `memory` the policy of its pages (empty: the system's own), both as its
    process read them back; `threads` how many of its threads did a twentieth of its work or more, 0 where it was too short
    to tell. `seconds` is its own figure where all ranks print one, else `wall_s`, from its start to its end; `metrics` are
    what it printed besides.
    """

    rank: int
    host: str
    seconds: float
    wall_s: float
    cpu_s: float
    peak_bytes: int
    threads: int = 0
    allowed: tuple[int, ...] = ()
    memory: str = ""
    exit_code: int = 0
    signal: int = 0
    metrics: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """All fields as plain values, processors as a list of ranges."""
        data = {**asdict(self), "allowed": format_processors(self.allowed), "metrics": dict(self.metrics)}
        return {k: v for k, v in data.items() if v or k == "rank"}


class _Stored(TypedDict, total=False):
    rank: int
    host: str
    seconds: float
    wall_s: float
    cpu_s: float
    peak_bytes: int
    threads: int
    allowed: str
    memory: str
    exit_code: int
    signal: int
    metrics: dict[str, float]


def rank_from_json(data: Any) -> RankPart:
    """Rebuild a RankPart from `RankPart.to_json`; raises ShapeError where it is not one."""
    known = fit(data, _Stored)
    try:
        allowed = tuple(parse_processors(known["allowed"])) if known.get("allowed") else ()
    except InputError as problem:
        raise ShapeError("allowed", str(problem)) from problem
    zero: dict[str, Any] = {"rank": 0, "host": "", "seconds": 0.0, "wall_s": 0.0, "cpu_s": 0.0, "peak_bytes": 0}
    return RankPart(**{**zero, **known, "allowed": allowed})


def imbalance(ranks: Sequence[RankPart]) -> float | None:
    """The slowest rank's seconds over the mean, less one: the share that the others wait for it; None for fewer than two."""
    mean = fmean(r.seconds for r in ranks) if len(ranks) > 1 else 0.0
    return max(r.seconds for r in ranks) / mean - 1 if mean > 0 else None


class _Memory(TypedDict):
    mode: int
    nodes: list[int]


class _Line(TypedDict, total=False):
    rank: int
    host: str
    pid: int
    allowed: list[int]
    memory: _Memory | None
    ended: bool
    asked: bool
    started_at: float
    wall_s: float
    user_s: float
    system_s: float
    peak_bytes: int
    threads: int
    exit_code: int
    signal: int
    protocol: list[str]
    dropped: int
    out: str
    err: str


@dataclass(frozen=True)
class Seen:
    """One rank as recorded: of one that was killed with its launcher only the start is known."""

    line: _Line

    @property
    def rank(self) -> int:
        """Its number in the job; -1 where no variable of a launcher says it."""
        return self.line.get("rank", -1)

    @property
    def ended(self) -> bool:
        """Whether it ended by itself, and nobody asked it to."""
        return self.line.get("ended", False) and not self.line.get("asked", False)

    @property
    def failure(self) -> str:
        """How it failed, in words, with what it said; empty where it ended well, or was ended."""
        code, number = self.line.get("exit_code", 0), self.line.get("signal", 0)
        if not self.ended or not (code or number):
            return ""
        names = {s.value: s.name for s in signal.Signals}
        how = f"was killed by signal {number} ({names.get(number, 'real-time')})" if number else f"ended with {code}"
        printed = self.line.get("err", "").strip()
        return f"{self} {how}" + (f": {printed[-_SHOWN:]}" if printed else "")

    def __str__(self) -> str:
        return f"rank {self.rank} on {self.line.get('host', '?')}"


def read_seen(folder: Path) -> list[Seen]:
    """The ranks that wrote into a folder, by their numbers. What is damaged is left out: it was killed while it wrote."""
    found = []
    for path in folder.iterdir():
        lines = path.read_bytes().splitlines(keepends=True)
        whole = [line for line in lines if line.endswith(b"\n")]
        for text in reversed(whole):
            try:
                found.append(Seen(fit(parse_json(text), _Line)))
                break
            except ValueError:
                continue
    return sorted(found, key=lambda seen: (seen.rank, seen.line.get("pid", 0)))


def _memory_of(line: _Line) -> str:
    policy = line.get("memory")
    if policy is None:
        return ""
    mode = next((name for name, number in MODES.items() if number == policy["mode"]), str(policy["mode"]))
    return f"{mode}:{format_processors(policy['nodes'])}" if policy["nodes"] else mode


@dataclass(frozen=True)
class OverRanks:
    """What is made of the metrics of several ranks: by name, and `usual` for all others. Work is always summed."""

    usual: Over = "max"
    named: Mapping[str, Over] = field(default_factory=dict)

    def of(self, name: str, values: Sequence[float]) -> float:
        """One number for those of the ranks that reported one."""
        how = "sum" if name in WORK and name not in self.named else self.named.get(name, self.usual)
        if how == "sum":
            return sum(values)
        return fmean(values) if how == "mean" else max(values) if how == "max" else min(values)


def read_over_ranks(texts: Sequence[str]) -> OverRanks:
    """Read `mean`, or `NAME=sum`, any number of them. Raises InputError."""
    known: dict[str, Over] = {how: how for how in get_args(Over)}
    named: dict[str, Over] = {}
    for text in texts:
        name, sign, how = text.rpartition("=")
        if how not in known or (sign and not name):
            raise InputError(
                f"--over-ranks {text!r} does not say what becomes of the ranks' numbers",
                f"write one of {', '.join(known)}, or of a single metric: NAME=sum",
            )
        named[one_line(name)] = known[how]
    return OverRanks(named.pop("", "max"), named)


def combine(seen: Sequence[Seen], patterns: Mapping[str, Any], over: OverRanks) -> tuple[list[RankPart], Reported]:
    """The ranks that ended, and what the run reported: seconds of the slowest, work summed, verified by all.

    A rank that prints nothing says nothing: often only the first one does.
    """
    ended = [s for s in seen if s.line.get("ended", False)]
    each = [_reported_by(s.line, patterns) for s in ended]
    if patterns and not any(t.seconds or t.metrics for t in each):
        return _parts(ended, each), each[0] if each else Reported()
    if patterns:
        # what one rank does not print another may
        each = [t if t.problem is None or t.seconds or t.metrics else Reported() for t in each]
    problem = next((f"rank {s.rank}: {t.problem}" for s, t in zip(ended, each, strict=True) if t.problem), None)
    times = [t.seconds for t in each if t.seconds is not None]
    values: dict[str, list[float]] = {}
    for reported in each:
        for name, value in reported.metrics.items():
            values.setdefault(name, []).append(value)
    metrics = {name: over.of(name, numbers) for name, numbers in values.items()}
    parts = _parts(ended, each)
    if (share := imbalance(parts)) is not None:
        metrics.setdefault("imbalance", share)
    claims = [t.verified for t in each if t.verified is not None]
    unread = next((t.unread for t in each if t.unread), "")
    return parts, Reported(max(times) if times else None, metrics, all(claims) if claims else None, problem, unread)


def _reported_by(line: _Line, patterns: Mapping[str, Any]) -> Reported:
    lines = line.get("protocol", [])
    if line.get("dropped", 0):
        return Reported(
            problem=f"{line['dropped']} of the lines of its sample protocol are too long or too many to be read"
        )
    if lines or not patterns:
        return read_protocol(lines)
    return read_metrics(line.get("out", "") + line.get("err", ""), patterns)


def _parts(ended: Sequence[Seen], reported: Sequence[Reported]) -> list[RankPart]:
    own = all(t.seconds is not None for t in reported)
    return [
        RankPart(
            rank=s.rank,
            host=s.line.get("host", ""),
            seconds=t.seconds if own and t.seconds is not None else s.line.get("wall_s", 0.0),
            wall_s=s.line.get("wall_s", 0.0),
            cpu_s=s.line.get("user_s", 0.0) + s.line.get("system_s", 0.0),
            peak_bytes=s.line.get("peak_bytes", 0),
            threads=s.line.get("threads", 0),
            allowed=tuple(s.line.get("allowed", ())),
            memory=_memory_of(s.line),
            exit_code=s.line.get("exit_code", 0),
            signal=s.line.get("signal", 0),
            metrics=t.metrics,
        )
        for s, t in zip(ended, reported, strict=True)
    ]


def why_failed(seen: Sequence[Seen], ranks: int) -> str:
    """Which rank failed first and what it said; who failed because of it is not named. Empty where none failed."""
    failed = [s for s in seen if s.failure]
    if failed:
        first = min(failed, key=lambda s: s.line.get("started_at", 0.0) + s.line.get("wall_s", 0.0))
        more = f"; {len(failed) - 1} more of {ranks} ranks failed after it" if len(failed) > 1 else ""
        return first.failure + more
    return ""


def still_running(seen: Sequence[Seen], ranks: int) -> str:
    """Which ranks had not ended when the run was cut off, and which never began; empty where all had."""
    running = [str(s) for s in seen if not s.ended]
    parts = []
    if running:
        named = ", ".join(running[:_MOST_NAMED])
        more = f" and {len(running) - _MOST_NAMED} more" if len(running) > _MOST_NAMED else ""
        parts.append(f"{named}{more} had not ended")
    if missing := sorted({*range(ranks)} - {s.rank for s in seen}):
        parts.append(f"{len(missing)} of {ranks} ranks never began: {format_processors(missing)}")
    return "; ".join(parts)
