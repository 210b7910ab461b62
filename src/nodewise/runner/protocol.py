# SPDX-License-Identifier: BSD-3-Clause
"""The sample protocol: lines of JSON by which a program says what it measured of itself.

    {"nodewise": 1, "seconds": 0.82, "items": 335544320, "bytes": 1.3e9, "verified": true, "anything": 3.5}

`seconds` is what is compared; `flops`, `bytes`, `items` are the work done; other numbers are metrics of the program's
own. A line begins with it, without blanks or text before; a number has no quotes. Several lines are several repetitions: each number is their median, `verified` holds only if it does for all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from statistics import median
from typing import Any

from nodewise.base.bounded_json import bounded, parse_json
from nodewise.base.escaping import one_line
from nodewise.base.frozen import dataclass
from nodewise.base.late import late
from nodewise.base.shapes import shown
from nodewise.runner.patterns import PatternError, limited

#: Each name is a column of what is kept.
_LONGEST_NAME, _MOST_NAMES = 200, 500
_NOT_METRICS = ("nodewise", "seconds")
_WORK = ("flops", "bytes", "items")
#: How much of a line is shown.
_SHOWN = 120
#: How a number goes on that a pattern took a part of, and how it began: decimals, an exponent, thousands, minutes.
_NUMBER_BEHIND = late(r"(?:\d|\.\d|[eEdD][-+]?\d|,\d{3}(?!\d)|:[0-5]\d(?!\d))[\d.,:]*(?:[eEdD][-+]?\d+)?")
_NUMBER_BEFORE = late(r"[-+]?[\d.]*(?:\d\.|\d\.?[eEdD][-+]?)$")
#: Units of time right behind a number.
_NOT_SECONDS = late(r"\s?(ms|msecs?|milliseconds?|us|µs|usecs?|microseconds?|ns|nanoseconds?|min|minutes?|hours?)\b")


@dataclass(frozen=True)
class Reported:
    """What a program reported: None for `seconds` where it gave none; `problem` says what is wrong with the lines.

    `unread` says what it may have wanted to report and was not read, empty where there is nothing.
    """

    seconds: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    verified: bool | None = None
    problem: str | None = None
    unread: str = ""


def _number(value: Any) -> float | None:
    return None if isinstance(value, bool) or not isinstance(value, int | float) else float(value)


def _unread_of(record: Mapping[str, Any], line: str) -> str:
    """What a line probably meant to report and does not, by its first such name; empty where there is none."""
    lost = [n for n, v in record.items() if n not in _NOT_METRICS and _number(v) is None and _is_meant(n, v)]
    return f"{lost[0]} was not read, since {shown(record[lost[0]])} is no number: {line[:_SHOWN]}" if lost else ""


def _plain(text: str) -> str:
    """The text of a number as programs print it. Raises ValueError for what Python alone takes for one."""
    if not text.isascii() or "_" in text:
        raise ValueError(text)
    return text


def _is_meant(name: str, value: Any) -> bool:
    """Whether what is no number stands where one is due, or is one in quotes."""
    if not isinstance(value, str):
        return name in _WORK and value is not None
    try:
        float(value)
    except ValueError:
        return name in _WORK
    return True


def read_protocol(lines: Sequence[str], misplaced: str = "") -> Reported:
    """Read the lines that begin with `{"nodewise":`; no lines report nothing. Never raises: what is wrong is in `problem`.

    `misplaced` is the beginning of a line in which that stands behind something else.
    """
    behind = 'a line was not read, since text stands before {"nodewise": on it: '
    unread = f"{behind}{misplaced[:_SHOWN]}" if misplaced else ""
    times: list[float] = []
    metrics: dict[str, list[float]] = {}
    verified: bool | None = None
    for line in lines:
        try:
            record = parse_json(line)
        except ValueError as problem:
            return Reported(problem=f"a damaged line of the sample protocol, {problem}: {line[:_SHOWN]}")
        if not isinstance(record, dict) or record.get("nodewise") != 1:
            return Reported(problem=f"a line of a sample protocol that is not version 1: {line[:_SHOWN]}")
        if "seconds" in record:
            seconds = _number(record["seconds"])
            if seconds is None or seconds <= 0:
                return Reported(problem=f"seconds is no number above zero: {line[:_SHOWN]}")
            times.append(seconds)
        claim = record.get("verified")
        if claim is not None and not isinstance(claim, bool):
            return Reported(problem=f"verified is neither true nor false but {shown(claim)}: {line[:_SHOWN]}")
        if claim is not None:
            verified = claim and verified is not False
        for name, value in record.items():
            number, name = _number(value), one_line(name)  # noqa: PLW2901
            if len(name) > _LONGEST_NAME:
                return Reported(
                    problem=f"a name of the sample protocol is longer than {_LONGEST_NAME}: {name[:_SHOWN]}"
                )
            if name not in _NOT_METRICS and number is not None:
                metrics.setdefault(name, []).append(number)
        unread = unread or _unread_of(record, line)
        if len(metrics) > _MOST_NAMES:
            return Reported(problem=f"the sample protocol names more than {_MOST_NAMES} metrics")
    reported = {k: median(v) for k, v in metrics.items()}
    return Reported(median(times) if times else None, reported, verified, unread=unread)


def _last_match(pattern: re.Pattern[str], output: str) -> re.Match[str] | None:
    return next(iter(limited(pattern, lambda: [*pattern.finditer(output)])[-1:]), None)


def _cut_from(output: str, found: re.Match[str], *, in_seconds: bool) -> str:
    """What a pattern left behind of a number, or another unit than seconds behind it, in words; empty where it has all.

    What the pattern itself has before and behind the number is what its author wanted there.
    """
    group = 1 if found.re.groups else 0
    begin, end = found.span(group)
    before = output[max(0, begin - _SHOWN) : begin] if begin == found.start() else ""
    behind = output[end : end + _SHOWN] if end == found.end() else ""
    head, tail = _NUMBER_BEFORE.search(before), _NUMBER_BEHIND.match(behind)
    if head or tail:
        whole = f"{head[0] if head else ''}{found[group]}{tail[0] if tail else ''}"
        return f"{found[group]!r} is only a part of {whole!r}: let the pattern take all of it, as 'total: (\\S+)' does"
    unit = _NOT_SECONDS.match(behind) if in_seconds else None
    if unit:
        return f"{found[group]!r} is in {unit[1]}, and seconds are needed: name the metric {unit[1]}, and give --minimize {unit[1]}"
    return ""


def read_metrics(output: str, patterns: Mapping[str, re.Pattern[str]]) -> Reported:
    """Read `--metric NAME=REGEX`: the first group (or all of the match) of the last match is the number.

    A metric named `seconds` is what is compared. A pattern that matches nothing, or no number, is a `problem`.
    """
    found: dict[str, float] = {}
    for name, pattern in patterns.items():
        try:
            last = _last_match(pattern, output)
        except PatternError as problem:
            return Reported(problem=f"metric {name}: {problem}")
        if last is None:
            return Reported(problem=f"metric {name}: {pattern.pattern!r} is nowhere in the output")
        text = last[1] if pattern.groups else last[0]
        if text and (cut := _cut_from(output, last, in_seconds=name == "seconds")):
            return Reported(problem=f"metric {name}: {cut}")
        try:
            found[name] = bounded(float(_plain(text)))
        except (TypeError, ValueError):
            where = "" if pattern.groups else "; a pair of brackets in the pattern marks the number: 'total: (\\S+)'"
            return Reported(problem=f"metric {name}: {text!r} is no number that can be used{where}")
        if name == "seconds" and found[name] <= 0:
            return Reported(problem=f"metric {name}: {text!r} is no number above zero")
    return Reported(found.pop("seconds", None), found)
