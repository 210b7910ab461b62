# SPDX-License-Identifier: BSD-3-Clause
"""Tests of a node's speed, by studies: what a check holds against other nodes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from nodewise.api.study import study
from nodewise.base.errors import InputError, UnavailableError
from nodewise.nodes.snapshot import Snapshot, Speed


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
SPEED_TESTS = tuple(_TESTS)
#: How long each is given, in seconds, and how often it runs at most.
SECONDS_EACH, _BLOCKS = 10.0, 12


def speed_tests(text: str) -> tuple[str, ...]:
    """The tests that a list names, each once. Raises InputError for a name that is none."""
    names = SPEED_TESTS if text == "all" else tuple(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in _TESTS:
            raise InputError(f"--speed: no such test: {name!r}", f"tests are {', '.join(_TESTS)}, or all")
    return names


def _measure(
    names: Sequence[str], threads: int | None, folder: Path | None, show: Callable[[str], None]
) -> tuple[dict[str, Speed], dict[str, str]]:
    found, absent = {}, {}
    for name in names:
        show(name)
        test = _TESTS[name]
        knobs = dict(test.knobs)
        if name == "disk":
            knobs["folders"] = str(folder or tempfile.gettempdir())
        try:
            found[name] = _measured(test, knobs, test.threads or threads)
        except (InputError, UnavailableError) as problem:
            absent[f"speed.{name}"] = problem.what
    return found, absent


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
    show: Callable[[str], None] = lambda _: None,
) -> Snapshot:
    """The snapshot with the tests' rates; they run on `processors` only where these are given. `folder` is where `disk` writes (None:
    that of temporary files); `show` is called with the name of each that begins. Why one gave nothing is under `absent`."""
    before = os.sched_getaffinity(0)
    try:
        if processors is not None:
            os.sched_setaffinity(0, processors)
        found, absent = _measure(names, threads, folder, show)
    finally:
        os.sched_setaffinity(0, before)
    return replace(snapshot, speed=found, absent={**snapshot.absent, **absent})
