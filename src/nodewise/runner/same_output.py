# SPDX-License-Identifier: BSD-3-Clause
"""Same output: which part of what a run leaves is its answer, and where two answers differ beyond a tolerance."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from nodewise.base.frozen import dataclass
from nodewise.base.late import late
from nodewise.runner.patterns import limited

if TYPE_CHECKING:
    from nodewise.runner.setting import Setting

TOLERANCE = 1e-9
#: How much of an output is compared with another's as text; a longer one is compared byte for byte, by its digest.
MOST_BYTES = 16 << 20
#: How much of a piece of text is shown where two differ, and how much of an output is kept around that place.
_SHOWN, _KEPT = 60, 4000

_NUMBER = late(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?")
_INTEGER = late(r"[-+]?\d+")
#: Words by which a program says how long or how fast it ran, which is not its answer: between the number before and this
#: one, or right behind it.
_TIME_BEFORE = late(
    r"\b(time[sdr]?|timing|(milli|micro|nano)?seconds?|m?secs?|minutes|elapsed|took|wall\w*|duration|runtime|speed|speedup"
    r"|throughput|bandwidth|latency|fom|date|pid|\w*flops?|\w*mops|[kmgt]i?b/s)\b"
    r"|/s(ec)?\b|per second|[(\[](s|ms|us|µs|ns)[)\]]",
    re.IGNORECASE,
)
_TIME_BEHIND = late(
    r"\s*[\[(]?(s|ms|us|µs|ns|m?secs?|usec|(milli|micro|nano)?seconds?|min|minutes|hours|\w*flops?|mops|\w*/s(ec)?|\w+ per second)\b",
    re.IGNORECASE,
)
#: A time of day or a duration, a date, an address.
_CLOCK = late(
    r"\b(\d{1,3}:[0-5]\d(:[0-5]\d)?([.,]\d+)?|\d+m\d+([.,]\d+)?s|\d{4}-\d\d-\d\d(T(?=\d))?|0x[0-9a-f]{6,})\b",
    re.IGNORECASE,
)
#: What stands in the place of what is no part of an answer.
_LEFT_OUT = "#"


class Kind(StrEnum):
    """What of a run is compared with the reference's."""

    OFF = "off"
    #: Standard output, if that of the reference repeats, but for what speaks of the run itself: see `repeatable`.
    AUTO = "auto"
    OUTPUT = "output"
    PATTERN = "pattern"
    FILE = "file"


@dataclass(frozen=True)
class SameOutput:
    """The rule: `what` is the regular expression or the file (seen from the run's directory), where `kind` needs one.

    `tolerance` is relative; for numbers near zero it is absolute, see `first_difference`.
    """

    kind: Kind = Kind.AUTO
    what: str = ""
    tolerance: float = TOLERANCE

    @property
    def named(self) -> str:
        """What is compared, for a sentence."""
        if self.kind is Kind.FILE:
            return self.what
        return f"what matches '{self.what}'" if self.kind is Kind.PATTERN else "output"

    def to_json(self, reference: str) -> dict[str, Any]:
        """What a question stores; `reference` is the key of the setting whose answer is taken for right."""
        return {"kind": self.kind.value, "what": self.what, "tolerance": self.tolerance, "reference": reference}


#: Nothing is compared.
ANY_OUTPUT = SameOutput(Kind.OFF)


def same_output_from_json(data: Mapping[str, Any]) -> SameOutput:
    """Rebuild the rule from `SameOutput.to_json`. Raises KeyError, ValueError."""
    return SameOutput(Kind(data["kind"]), str(data["what"]), float(data["tolerance"]))


@dataclass(frozen=True)
class Difference:
    """The first place where two answers differ: the line (from 1), and what stands there in words."""

    line: int
    text: str


#: What a line has to speak of besides a value that was set, to be what the program says of how it runs.
_OF_THE_RUN = late(r"thread|\bcores?\b|cpus?\b|workers?\b|process|\branks?\b|\bjobs?\b|schedul", re.IGNORECASE)
_OF_TROUBLE = late(
    r"fail|error|warn|abort|lost|miss|wrong|invalid|cannot|could not|\bnan\b|\bno\b|\bnot\b", re.IGNORECASE
)


@dataclass(frozen=True)
class OwnWords:
    """What the automatic rule excuses besides: where a program says what the setting sets, as in `4 threads`.

    `values` are what is set, as printed, `names` what they are called.
    """

    values: frozenset[str]
    names: frozenset[str]

    def number(self, printed: str) -> bool:
        """Whether a number that differs is one of what is set."""
        return printed in self.values

    def line(self, text: str) -> bool:
        """Whether a line that the reference lacks says what is set, and nothing else: its numbers are such values, and it names one."""
        words = set(re.findall(r"[\w.+-]+", text))
        if not self.values & words or not self.values.issuperset(_NUMBER.findall(text)) or _OF_TROUBLE.search(text):
            return False
        return bool(_OF_THE_RUN.search(text)) or any(name in text.lower() for name in self.names)


def first_difference(
    reference: str,
    other: str,
    tolerance: float,
    excused: OwnWords | None = None,
    result: Callable[[str], str] = lambda line: line,
) -> Difference | None:
    """Where `other` differs from `reference`, line by line; None where it is the same answer. `result` is what of a line is compared.

    Text has to be the same except for the width of blanks. Integers have to be equal; of two numbers with a point or an
    exponent |a - b| <= tolerance * max(|a|, |b|) is enough, or <= tolerance * min(1, the largest magnitude in the
    reference), since what ought to be zero is rounding of what is not.
    """
    tolerances = _Tolerances(tolerance, reference, result)
    lines, theirs_left = _lines(other), _lines(reference)
    more = len(lines) - len(theirs_left)
    at = 0
    for number, line in enumerate(lines, 1):
        other_line = theirs_left[at] if at < len(theirs_left) else None
        at += 1
        if line == other_line:
            continue
        # of a long text few lines differ, and only these are looked through
        mine, theirs = result(line), None if other_line is None else result(other_line)
        if mine == theirs:
            continue
        found = None if theirs is None else _line_difference(mine, theirs, tolerances, excused)
        if theirs is not None and found is None:
            continue
        if more > 0 and excused is not None and excused.line(mine):
            more -= 1
            at -= 1
            continue
        return Difference(number, found or f"{_show(mine)} against {_show(None)}")
    if at < len(theirs_left):
        return Difference(len(lines) + 1, f"{_show(None)} against {_show(result(theirs_left[at]))}")
    return None


def _lines(text: str) -> list[str]:
    return text.rstrip("\n").split("\n") if text.strip("\n") else []


class _Tolerances:
    """How far two numbers may be apart: as a share, and near zero by what the reference's numbers allow, which is found when it is needed."""

    def __init__(self, relative: float, reference: str, result: Callable[[str], str]):
        self.relative = relative
        self._reference, self._result = reference, result

    @cached_property
    def near(self) -> float:
        """For numbers near zero: `relative` of the largest magnitude in the reference, or of 1 where that is larger."""
        largest = 0.0
        for line in _lines(self._reference):
            largest = max(largest, _largest(self._result(line)))
            if largest >= 1.0:
                break
        return self.relative * min(1.0, largest)


def _largest(text: str) -> float:
    magnitudes = (abs(_value(n)) for n in _NUMBER.findall(text) if not _INTEGER.fullmatch(n))
    return max((m for m in magnitudes if math.isfinite(m)), default=0.0)


def _value(number: str) -> float:
    return float(number.replace("d", "e").replace("D", "e"))


def _show(text: str | None) -> str:
    if text is None:
        return "nothing"
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


def _pieces(line: str) -> Iterator[tuple[str, str, int, int]]:
    """Each number of a line with the text before it (blanks made one) and its place; at last the text behind them all."""
    end = 0
    for found in _NUMBER.finditer(line):
        yield " ".join(line[end : found.start()].split()), found[0], *found.span()
        end = found.end()
    yield " ".join(line[end:].split()), "", len(line), len(line)


def _line_difference(mine: str, theirs: str, tolerances: _Tolerances, excused: OwnWords | None) -> str | None:
    for one, other in zip_longest(_pieces(mine), _pieces(theirs)):
        if one is None or other is None or one[0] != other[0] or bool(one[1]) != bool(other[1]):
            return f"{_near(mine, theirs)} against {_near(theirs, mine)}"
        if one[1] == other[1] or _close(one[1], other[1], tolerances):
            continue
        if excused is None or not excused.number(one[1]):
            return f"{one[1]} against {other[1]}"
    return None


def _near(line: str, other: str) -> str:
    """The part of a line where it begins to differ from another one."""
    at = next((i for i, (a, b) in enumerate(zip(line, other, strict=False)) if a != b), min(len(line), len(other)))
    begin = max(0, at - _SHOWN // 2) if len(line) > _SHOWN else 0
    return ("…" if begin else "") + _show(line[begin:])


def _close(one: str, other: str, tolerances: _Tolerances) -> bool:
    if _INTEGER.fullmatch(one) and _INTEGER.fullmatch(other):
        return int(one) == int(other)
    a, b = _value(one), _value(other)
    if not (math.isfinite(a) and math.isfinite(b)):
        return False
    apart = abs(a - b)
    return apart <= tolerances.relative * max(abs(a), abs(b)) or apart <= tolerances.near


def own_words(setting: Setting) -> OwnWords:
    """What a program may say of a setting: its values, and the numbers of its processors and places."""
    values = {str(v) for v in setting.values.values()} - {"0", ""}
    values |= {str(len(x)) for x in (setting.mask, setting.places) if x is not None}
    return OwnWords(frozenset(values), frozenset(n.lower().strip("-") for n in setting.values if len(n.strip("-")) > 2))


def repeatable(text: str) -> str:
    """A text in which what a program says of its run and not of its result is left out, with as many lines as before.

    That is: numbers next to a word or a unit of time or speed, times of day, dates, addresses.
    """
    return "\n".join(map(repeatable_line, text.split("\n")))


def repeatable_line(line: str) -> str:
    """The same of one line."""
    bare = _CLOCK.sub(_LEFT_OUT, line)
    if not (_TIME_BEFORE.search(bare) or _NUMBER.search(bare)):
        return bare
    parts, changed = [], bare != line
    for before, number, _, end in _pieces(bare):
        left_out = number and (_TIME_BEFORE.search(before) or _TIME_BEHIND.match(bare[end:]))
        changed |= bool(left_out)
        parts += [before, _LEFT_OUT if left_out else number]
    # a number that grows by a digit takes a blank from before it
    return " ".join(filter(None, parts)) if changed else line


def matches(pattern: re.Pattern[str], text: str) -> str | None:
    """All that a pattern finds, one match a line (its groups, or the whole of it); None where it finds nothing.

    Raises PatternError where that takes too long.
    """
    every = limited(pattern, lambda: [*pattern.finditer(text)])
    found = [" ".join(" ".join(g or "" for g in m.groups() or (m[0],)).split()) for m in every]
    return "\n".join(found) if found else None


def first_byte(one: str, other: str) -> int:
    """The number, from 1, of the first byte in which two outputs differ, of which the shorter one may have none."""
    a, b = (text.encode("utf-8", "surrogateescape") for text in (one, other))
    same, most = 0, min(len(a), len(b))
    while same < most:
        middle = (same + most + 1) // 2
        if a[same:middle] == b[same:middle]:
            same = middle
        else:
            most = middle - 1
    return same + 1


def around(text: str, line: int) -> str:
    """A part of a text with that line (from 1) in its middle, to be kept with an error."""
    lines = text.split("\n")
    at = sum(len(x) + 1 for x in lines[: line - 1])
    begin = max(0, min(at - _KEPT // 2, len(text) - _KEPT))
    return text[begin : begin + _KEPT]
