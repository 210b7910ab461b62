# SPDX-License-Identifier: BSD-3-Clause
"""Tests of a node's speed, by studies: what a check holds against other nodes."""

from __future__ import annotations

import os
import secrets
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from nodewise.api.study import study
from nodewise.base.errors import InputError, UnavailableError
from nodewise.base.frozen import dataclass
from nodewise.nodes.node_names import expand, fold
from nodewise.nodes.pairs import meet_all, place_of
from nodewise.nodes.snapshot import Snapshot, Speed
from nodewise.statistics.interval import median_interval


@dataclass(frozen=True)
class _Test:
    """A study with one contender: its knobs, and how many threads it takes where that is not the user's to say."""

    study: str
    contender: str
    knobs: Mapping[str, str] = field(default_factory=dict)
    threads: int | None = None


#: By name. Each takes some seconds.
_TESTS = {
    "dgemm": _Test("dgemm", "best"),
    "bandwidth": _Test("bandwidth", "triad"),
    "latency": _Test("latency", "chase", threads=1),
    "disk": _Test("fileio", "direct-whole", {"kib": "131072", "op": "write"}, threads=1),
}
#: Between nodes, not on one.
PING = "ping"
#: What ping gives besides.
STREAM = "stream"
SPEED_TESTS = (*_TESTS, PING)
#: How long each is given, in seconds, and how often it runs at most.
SECONDS_EACH, _BLOCKS = 10.0, 12


@dataclass(frozen=True)
class Meet:
    """The nodes that measure pairs, from which port on each listens at its own, and what they know each other by."""

    nodes: tuple[str, ...]
    port: int
    secret: str

    @classmethod
    def new(cls, nodes: Sequence[str]) -> Meet:
        """One for these nodes; its ports are below those that systems give out by themselves."""
        return cls(
            tuple(expand(fold(nodes))), 10000 + secrets.randbelow(20000 - min(len(nodes), 10000)), secrets.token_hex(16)
        )

    def text(self) -> str:
        """As `read` takes it."""
        return f"{self.port}:{self.secret}:{fold(self.nodes)}"

    @classmethod
    def read(cls, text: str) -> Meet:
        """Raises InputError for what is none."""
        port, _, rest = text.partition(":")
        secret, _, nodes = rest.partition(":")
        if not port.isdecimal() or not 1024 <= int(port) <= 65535 or not secret:
            raise InputError(
                f"--meet: not PORT:SECRET:NODES: {text[:80]!r}",
                "`nodewise check --hosts NODES --speed ping` gives it to nodes",
            )
        return cls(tuple(expand(nodes)), int(port), secret)


def speed_tests(text: str) -> tuple[str, ...]:
    """The tests that a list names, each once. Raises InputError for a name that is none."""
    names = SPEED_TESTS if text == "all" else tuple(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in SPEED_TESTS:
            raise InputError(f"--speed: no such test: {name!r}", f"tests are {', '.join(SPEED_TESTS)}, or all")
    return names


def _measure(
    names: Sequence[str], threads: int | None, folder: Path | None, meeting: Meet | None, show: Callable[[str], None]
) -> tuple[dict[str, Speed], dict[str, str]]:
    found: dict[str, Speed] = {}
    absent: dict[str, str] = {}
    # first, while all nodes are at it
    if PING in names:
        show(PING)
        found, absent = _met(meeting)
    for name in (n for n in names if n != PING):
        show(name)
        test = _TESTS[name]
        knobs = dict(test.knobs)
        if name == "disk":
            knobs["folders"] = str(folder or tempfile.gettempdir())
        try:
            found[name] = _measured(test, knobs, test.threads or threads)
        except (InputError, UnavailableError) as problem:
            # nobody gave this budget, so nobody can give another
            short = problem.what.startswith("the budget is too small")
            absent[f"speed.{name}"] = f"fewer than six runs ended within {SECONDS_EACH:g} s" if short else problem.what
    return found, absent


def _met(meeting: Meet | None) -> tuple[dict[str, Speed], dict[str, str]]:
    """What the meetings with other nodes gave: medians, so that one bad partner does not make this node a bad one."""
    if meeting is None:
        return {}, {f"speed.{PING}": "it takes several nodes: --hosts"}
    system = os.uname().nodename
    own = place_of(meeting.nodes, os.environ.get("SLURMD_NODENAME", system), system)
    if own is None:
        return {}, {f"speed.{PING}": f"which of {fold(meeting.nodes)} this node is cannot be told"}
    try:
        found, failed = meet_all(own, meeting.nodes, meeting.port, meeting.secret)
    except OSError as problem:
        return {}, {f"speed.{PING}": f"cannot listen on port {meeting.port + own}: {problem.strerror}"}
    unreached = fold(failed) or None
    return {
        PING: _of_meetings([m.turns for m in found], "turns/s", unreached),
        STREAM: _of_meetings([m.bytes / 1e6 for m in found], "MB/s", unreached),
    }, {}


def _of_meetings(rates: Sequence[float], unit: str, unreached: str | None) -> Speed:
    low, high = median_interval(rates) or (None, None)
    return Speed(statistics.median(rates) if rates else None, low, high, unit, 1, len(rates), 0, unreached)


def _measured(test: _Test, knobs: Mapping[str, str], threads: int | None) -> Speed:
    verdict = study(
        test.study,
        knobs=knobs,
        only=[test.contender],
        threads=threads,
        blocks=_BLOCKS,
        budget=SECONDS_EACH,
        accept_disturbed=True,
    )
    [row] = [r for r in verdict.rows if r.contender == test.contender]
    if row.rate is None:
        raise UnavailableError(row.not_run or "no run ended well")
    if not row.verified:
        raise UnavailableError("its result is wrong")
    runs = sum(t is not None for t in row.times)
    return Speed(row.rate, row.rate_low, row.rate_high, row.unit, row.threads, runs, row.disturbed)


def with_speeds(
    snapshot: Snapshot,
    names: Sequence[str],
    threads: int | None,
    processors: Sequence[int] | None,
    folder: Path | None,
    meeting: Meet | None = None,
    show: Callable[[str], None] = lambda _: None,
) -> Snapshot:
    """The snapshot with the tests' rates; they run on `processors` only where these are given. `folder` is where `disk` writes (None:
    that of temporary files); `show` is called with the name of each that begins. Why one gave nothing is under `absent`."""
    before = os.sched_getaffinity(0)
    try:
        if processors is not None:
            os.sched_setaffinity(0, processors)
        found, absent = _measure(names, threads, folder, meeting, show)
    finally:
        os.sched_setaffinity(0, before)
    return replace(snapshot, speed=found, absent={**snapshot.absent, **absent})
