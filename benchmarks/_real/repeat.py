# SPDX-License-Identifier: BSD-3-Clause
"""The second opinion: lines as printed, given to `sh -c` in turns. It shares no code with nodewise, on purpose."""

from __future__ import annotations

import contextlib
import math
import os
import random
import re
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

FEWEST_ROUNDS, MOST_ROUNDS = 12, 40


class LineError(Exception):
    """A line that does not run well, with what it said."""


def run_line(line: str, folder: Path, environment: Mapping[str, str], timeout_s: float, metric: str = "") -> float:
    """Seconds that `sh -c line` takes, or the number that `metric` finds in what it prints.

    Its output goes to a file, as programs may skip their work for /dev/null. Raises LineError where it fails, takes longer
    than `timeout_s` or prints no such number.
    """
    with tempfile.TemporaryFile() as out:
        begin = time.perf_counter()
        child = subprocess.Popen(
            ["sh", "-c", line],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            # a group to end; no session of its own, which could have another share of the processors
            process_group=0,
        )
        try:
            ended = _ends_within(child.pid, timeout_s)
            seconds = time.perf_counter() - begin
        except BaseException:
            _kill(child)
            raise
        if not ended:
            _kill(child)
            raise LineError(f"still running after {timeout_s:.0f} s")
        code = child.wait()
        out.seek(0)
        said = out.read().decode(errors="replace")
    if code:
        raise LineError(f"exit code {code}: {' / '.join(said.strip().splitlines()[-3:])}")
    if not metric:
        return seconds
    found = re.findall(metric, said)
    if not found:
        raise LineError(f"it printed nothing that fits {metric}")
    return float(found[-1])


def _ends_within(process: int, timeout_s: float) -> bool:
    """Whether the process ends in time. `Popen.wait` with a timeout would look only every 50 ms."""
    descriptor = os.pidfd_open(process)
    try:
        return bool(select.select([descriptor], [], [], timeout_s)[0])
    finally:
        os.close(descriptor)


def _kill(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def repeat(
    lines: Mapping[str, str],
    folder: Path,
    environment: Mapping[str, str],
    *,
    seconds: float,
    metric: str = "",
    seed: int | None = None,
) -> dict[str, list[float]]:
    """The lines in rounds of random order, each once a round: at least 12 rounds, and up to 40 within `seconds`.

    Raises LineError, which names the line that failed.
    """
    dice = random.Random(seed)
    times: dict[str, list[float]] = {name: [] for name in lines}
    begin = time.perf_counter()
    limit = 600.0
    for number in range(MOST_ROUNDS + 1):
        if number > FEWEST_ROUNDS and time.perf_counter() - begin > seconds:
            break
        for name in dice.sample(list(lines), len(lines)):
            started = time.perf_counter()
            try:
                value = run_line(lines[name], folder, environment, limit, metric)
            except LineError as problem:
                raise LineError(f"{name}: {problem}") from None
            limit = min(limit, 30.0 + 20.0 * (time.perf_counter() - started))
            if number:  # the first round warms up
                times[name].append(value)
    return times


def ratio(base: list[float], other: list[float], more_is_better: bool = False) -> tuple[float, float, float]:
    """How many times faster `other` is: the median of the paired log ratios, between two of their order statistics.

    The interval holds the median with at least 95 %, by the binomial distribution (H. A. David, H. N. Nagaraja, Order
    Statistics, 3rd ed., 7.1). Raises ValueError for fewer than six pairs, for which there is none.
    """
    logs = sorted(math.log(b / o) for b, o in zip(base, other, strict=True))
    n = len(logs)
    if n < 6:
        raise ValueError(f"{n} pairs give no interval at 95 %")
    below, rank = 1, 0  # outcomes with at most `rank` of n values below the median
    while 2 * (below + math.comb(n, rank + 1)) <= 0.05 * 2**n:
        rank += 1
        below += math.comb(n, rank)
    middle = (logs[(n - 1) // 2] + logs[n // 2]) / 2
    ends = (math.exp(v) for v in (middle, logs[rank], logs[n - 1 - rank]))
    if more_is_better:
        best, low, high = ends
        return 1 / best, 1 / high, 1 / low
    return next(ends), next(ends), next(ends)
