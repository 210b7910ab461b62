# SPDX-License-Identifier: BSD-3-Clause
"""What spoils a series of runs: marks that ask for a repetition or forbid a word, drift, several modes, a first run that differs.

Nothing is left out here: a block that is repeated keeps its samples, and what is found is reported with the verdict.
"""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from nodewise.statistics.dip import dip_p_value, scaled_dip

#: Kinds of marks (the word before the colon) of what comes and goes: another run may be free of it. The others, such as a
#: quota or a program that binds itself elsewhere, would be there again.
PASSING = ("steal", "other load", "heat", "clock", "paging", "memory pressure", "stopped")
#: Kinds that are a condition of an experiment where all of its runs met them alike.
_CONSTANT = ("clock",)
#: A share of stolen time that differs by more than this from that of the other runs disturbed a run; `runner.marks.SHARE`.
_SHARE = 0.05
#: Steal is counted in hundredths of a second: below this it is rounding, and shorter runs are looked at together.
_ROUNDING_S = 0.03
_TOGETHER_S = _ROUNDING_S / _SHARE
#: This share of the runs counts as all of them.
_ALL = 0.9
#: Less steal is not named.
_NAMED = 0.01
#: Others rest between the runs where they were looked at so often then, and worked no more than this share of that time.
_RESTS, _RESTING = 3, 0.05
_SIGMA = 1.4826
_NORMAL = NormalDist()


def repeat_worthy(marks: Sequence[str]) -> bool:
    """Whether a run with these marks (`kind: what was seen`) was disturbed by something that another run may be spared."""
    return any(mark.partition(":")[0] in PASSING for mark in marks)


def repeats_due(disturbed: int, blocks: int, most: float = 0.25) -> int:
    """How many more blocks to make, for the `disturbed` ones (with a run that is `repeat_worthy`) of so many.

    At most the share `most` of the blocks, rounded up: where more are disturbed, that is how the machine is. A whole block is
    repeated, never a run of it, and by its marks alone, never by its times: else the choice would favour a setting.
    """
    return min(disturbed, math.ceil(most * blocks))


@dataclass(frozen=True)
class Met:
    """What one run met: its block, its contender, its marks, and in seconds its processor time and what was stolen of it.

    `used_s` is the larger of its processor time and its duration, as in `runner.marks`; `stolen_s` is that of
    `runner.marks.stolen_s`. `rest_s` is how long its processors were looked at before it, while nothing of the experiment ran,
    and `rest_busy_s` their processor time meanwhile, in seconds.
    """

    block: int
    contender: str
    marks: Sequence[str] = ()
    used_s: float = 0.0
    stolen_s: float = 0.0
    rest_s: float = 0.0
    rest_busy_s: float = 0.0


@dataclass(frozen=True)
class Disturbance:
    """How much of an experiment was disturbed by what comes and goes, and under what constant conditions it ran.

    A block is disturbed where any of its runs is. `kinds` are those of the marks that disturbed, the most frequent first;
    `conditions` are in words, such as `steal of 8 % in all runs`; `which` are the numbers of the blocks.
    """

    blocks: int
    disturbed_blocks: int
    runs: int
    disturbed_runs: int
    kinds: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    which: frozenset[int] = frozenset()

    @property
    def reason(self) -> str:
        """Why nothing is claimed: `the machine was busy (120 of 120 runs, other load)`; empty where nothing was disturbed."""
        if not self.disturbed_runs:
            return ""
        busy = "busy" if self.kinds[0] in ("other load", "steal") else "disturbed"
        return f"the machine was {busy} ({self.disturbed_runs} of {self.runs} runs, {', '.join(self.kinds)})"


def disturbance(runs: Sequence[Met], quota: float | None = None) -> Disturbance:
    """What disturbed the runs that decide, given in the order in which they were made.

    Steal that all runs met alike (nine of ten within 5 percentage points) is a condition, and so is a clock below its base in
    all runs of a contender, as wide vectors bring it about; what passes is a disturbance. Load of others that comes with most blocks
    and is not seen between runs, as of a database that the program asks, is named, too; it disturbs all the same, since work that
    comes and goes by a clock may look alike. `quota` is the processor time that
    the control group grants, in processors, None without one.
    """
    ordinary, stolen = _steal(runs)
    always = _always(runs)
    spoiled = [
        {k for k in _kinds(run) if k in PASSING and k != "steal" and (run.contender, k) not in always}
        | ({"steal"} if unusual else set())
        for run, unusual in zip(runs, stolen, strict=True)
    ]
    conditions = []
    if _rests(runs, spoiled):
        conditions.append(
            "others' load came with the runs and rested between them: where it works for the program, as a database does, let it "
            "count by --accept-disturbed"
        )
    counts = Counter(kind for kinds in spoiled for kind in sorted(kinds))
    if ordinary >= _NAMED:
        conditions.append(f"steal of {ordinary * 100:.0f}% in all runs")
    for kind in _CONSTANT:
        contenders = sorted({c for c, k in always if k == kind})
        if contenders:
            every = len(contenders) == len({run.contender for run in runs})
            conditions.append(
                f"the {kind} below its base in all runs" + ("" if every else f" of {', '.join(contenders)}")
            )
    if quota is not None:
        conditions.append(f"a quota of {quota:g} processors")
    elif any("throttled" in _kinds(run) for run in runs):
        conditions.append("a quota that held runs back")
    which = frozenset(run.block for run, kinds in zip(runs, spoiled, strict=True) if kinds)
    return Disturbance(
        blocks=len({run.block for run in runs}),
        disturbed_blocks=len(which),
        runs=len(runs),
        disturbed_runs=sum(map(bool, spoiled)),
        kinds=tuple(kind for kind, _ in counts.most_common()),
        conditions=tuple(conditions),
        which=which,
    )


def _rests(runs: Sequence[Met], spoiled: Sequence[set[str]]) -> bool:
    """Whether others' load may be what the program itself brings about: it is in most blocks, and in no rest between runs."""
    loud = {run.block for run, kinds in zip(runs, spoiled, strict=True) if "other load" in kinds}
    if 2 * len(loud) <= len({run.block for run in runs}):
        return False
    rests = [run for run in runs if run.rest_s > 0]
    busy, seconds = sum(run.rest_busy_s for run in rests), sum(run.rest_s for run in rests)
    return len(rests) >= _RESTS and busy <= _RESTING * seconds + _ROUNDING_S


def _kinds(run: Met) -> set[str]:
    return {mark.partition(":")[0] for mark in run.marks}


def _always(runs: Sequence[Met]) -> set[tuple[str, str]]:
    """Contenders with a kind of mark that all of their runs have, and that is then a condition."""
    made = Counter(run.contender for run in runs)
    marked = Counter((run.contender, kind) for run in runs for kind in _kinds(run) if kind in _CONSTANT)
    return {(c, kind) for (c, kind), count in marked.items() if count >= _ALL * made[c]}


def _steal(runs: Sequence[Met]) -> tuple[float, list[bool]]:
    """The share of steal that all runs met, 0 where it came and went; and of each run whether it met another one.

    Runs too short to tell are taken together with those that follow them.
    """
    groups: list[tuple[float, float, int]] = []
    begin, used, stolen = 0, 0.0, 0.0
    for n, run in enumerate(runs, 1):
        used += run.used_s + run.stolen_s
        stolen += run.stolen_s
        if used >= _TOGETHER_S or n == len(runs):
            groups.append((used, stolen, n - begin))
            begin, used, stolen = n, 0.0, 0.0

    def differs(used: float, stolen: float, share: float) -> bool:
        return abs(stolen - share * used) > max(_SHARE * used, _ROUNDING_S)

    by_share = sorted(groups, key=lambda g: g[1] / g[0] if g[0] else 0.0)
    cut = int((1 - _ALL) * len(groups))
    middle = by_share[cut : len(groups) - cut]
    total = sum(g[0] for g in middle)
    usual = sum(g[1] for g in middle) / total if total else 0.0
    alike = sum(not differs(u, s, usual) and s >= usual * u / 2 for u, s, _ in groups) >= _ALL * len(groups)
    ordinary = usual if alike else 0.0
    # less than a twentieth is no harm, so it excuses nothing
    excused = ordinary if ordinary > _SHARE else 0.0
    return ordinary, [differs(u, s, excused) for u, s, count in groups for _ in range(count)]


@dataclass(frozen=True)
class Drift:
    """A trend over the order of runs: `slope` is the change in one run, `size` that over all of them, as shares of the median.

    `p_value` is the probability of a trend this strong where there is none; `found` whether that is below what was asked.
    """

    slope: float
    size: float
    p_value: float
    found: bool


#: Of longer series the medians of this many neighbouring groups are looked at, since all pairs are compared.
_MOST_RUNS = 600
_FEWEST_FOR_DRIFT = 6


def drift(times: Sequence[float], alpha: float = 0.01) -> Drift:
    """Whether times rise or fall from run to run. `times` are seconds in the order of the runs, all above zero.

    The slope is the median of those between all pairs, of logarithms (H. Theil 1950; P. K. Sen, Journal of the American
    Statistical Association 63, 1968); the test is Mann's and Kendall's with ties (M. G. Kendall, Rank Correlation Methods,
    1975), its variance raised where neighbouring runs are alike (K. H. Hamed, A. R. Rao, Journal of Hydrology 204, 1998),
    since a burst is no trend. Fewer than six runs show nothing. Raises ValueError where a time is not above zero.
    """
    data = np.asarray(times, dtype=float)
    if data.size and data.min() <= 0:
        raise ValueError("times must be above zero")
    runs = data.size
    if runs < _FEWEST_FOR_DRIFT:
        return Drift(0.0, 0.0, 1.0, False)
    logs = np.log(data)
    step = 1.0
    if runs > _MOST_RUNS:
        groups = np.array_split(logs, _MOST_RUNS)
        logs, step = np.array([float(np.median(g)) for g in groups]), runs / _MOST_RUNS
    n = logs.size
    rows, columns = np.triu_indices(n, 1)
    rises = logs[columns] - logs[rows]
    slope = float(np.median(rises / (columns - rows)))
    score = float(np.sign(rises).sum())
    ties = np.unique(logs, return_counts=True)[1]
    variance = (n * (n - 1) * (2 * n + 5) - float((ties * (ties - 1) * (2 * ties + 5)).sum())) / 18
    if variance <= 0 or score == 0:
        return Drift(0.0, 0.0, 1.0, False)
    variance *= _likeness(logs - slope * np.arange(n))
    z = (abs(score) - 1) / math.sqrt(variance)
    p = 2 * (1 - _NORMAL.cdf(z))
    return Drift(math.expm1(slope / step), math.expm1(slope * (n - 1)), p, p < alpha)


def _likeness(residuals: NDArray[np.float64]) -> float:
    """By how much the variance of Kendall's score grows where runs are like those before them; never below 1."""
    n = residuals.size
    ranks = np.argsort(np.argsort(residuals, kind="stable"), kind="stable").astype(float)
    ranks -= ranks.mean()
    power = float((ranks**2).sum())
    total = 0.0
    for lag in range(1, max(2, n // 4)):
        alike = float((ranks[lag:] * ranks[:-lag]).sum()) / power
        # at the first lag that chance explains, what follows is chance too
        if alike <= _NORMAL.inv_cdf(0.95) / math.sqrt(n):
            break
        total += (n - lag) * (n - lag - 1) * (n - lag - 2) * alike
    return 1 + 2 * total / (n * (n - 1) * (n - 2))


@dataclass(frozen=True)
class Mode:
    """One mode: the median of its runs in seconds, and their share of all."""

    seconds: float
    share: float


@dataclass(frozen=True)
class Modes:
    """Whether times gather at more than one place, how probable that is of one (`p_value`), and where they do, ascending.

    Where they gather at one place, `modes` holds that one.
    """

    bimodal: bool
    p_value: float
    modes: tuple[Mode, ...]


_FEWEST_FOR_MODES = 10
#: Up to this share of runs apart from the rest are outliers, also where they gather.
_OUTLIERS = 0.15
#: Modes are apart by at least this many standard deviations of the runs around them (Ashman's D, Astronomical Journal 108, 1994:
#: two normals are seen as two above 2; the halves of one lie 2.3 apart, of a uniform 2.7).
_APART = 3.5
#: How large sqrt(n) times the dip must also be, by n: where times that are normal, lognormal, quantised or have 5 to 15%
#: outliers are taken for two modes in at most 2 of 100 series (simulated). The dip's own p-value is that of the uniform,
#: from which two modes five deviations apart can hardly be distinguished by thirty runs; times are rarely uniform, unless they drift.
_DIPS = {10: 0.50, 15: 0.46, 20: 0.43, 30: 0.40, 50: 0.36, 100: 0.33}
_MOST_MODES = 4


def modes(times: Sequence[float]) -> Modes:
    """Whether n times gather at several places, by the dip of their logarithms, and at which.

    Each mode holds more runs than outliers would (a third of 30, a quarter of 100), and they lie apart by several times their
    own spread. Times that a coarse clock has made equal are first spread evenly over its step. Below ten runs nothing is
    said. Times that drift look uniform, of which up to 9 % are taken for several modes: ask `drift` first.
    Raises ValueError for no times, or where one is not above zero.
    """
    data = np.sort(np.asarray(times, dtype=float))
    if data.size == 0:
        raise ValueError("the modes of no times")
    if data[0] <= 0:
        raise ValueError("times must be above zero")
    logs = np.log(_spread_ties(data))
    p, parts = _split(logs)
    found = []
    begin = 0
    for part in parts:
        found.append(Mode(float(np.median(data[begin : begin + part])), part / data.size))
        begin += part
    return Modes(len(parts) > 1, p, tuple(found))


def _spread_ties(data: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sorted values, those that are equal spread evenly over the smallest step that there is between different ones."""
    values, first, counts = np.unique(data, return_index=True, return_counts=True)
    if values.size < 2 or counts.max() < 2:
        return data
    step = min(float(np.diff(values).min()), float(values[0]))
    within = (np.arange(data.size) - np.repeat(first, counts) + 0.5) / np.repeat(counts, counts)
    return data + step * (within - 0.5)


def _split(logs: NDArray[np.float64], room: int = _MOST_MODES) -> tuple[float, list[int]]:
    """The p-value of one mode for sorted values, and how many values each mode holds."""
    n = logs.size
    if n < _FEWEST_FOR_MODES or room < 2:
        return 1.0, [n]
    p = dip_p_value(logs)
    if scaled_dip(logs) < np.interp(math.log(n), np.log(list(_DIPS)), list(_DIPS.values())):
        return p, [n]
    for cuts in (_two(logs), _three(logs)):
        groups = np.split(logs, cuts)
        large = min(g.size for g in groups) >= _fewest(n)
        if large and all(_apart(a, b) for a, b in itertools.pairwise(groups)):
            return p, [size for g in groups for size in _split(g, room - len(groups) + 1)[1]]
    return p, [n]


def _fewest(runs: int) -> float:
    """How many runs make a mode: more than outliers would be by chance (binomial, once in hundred)."""
    return _OUTLIERS * runs + 2.5 * math.sqrt(_OUTLIERS * (1 - _OUTLIERS) * runs)


def _scatter(
    sums: NDArray[np.float64], begin: NDArray[np.int64] | int, end: NDArray[np.int64] | int
) -> NDArray[np.float64]:
    """The sum of absolute deviations from the median of sorted values from `begin` to `end`, by their running sums."""
    begin, end = np.asarray(begin), np.asarray(end)
    middle = begin + (end - begin) // 2
    odd = (end - begin) % 2
    return np.asarray(sums[end] - sums[middle + odd] - (sums[middle] - sums[begin]), dtype=float)


def _two(logs: NDArray[np.float64]) -> list[int]:
    """Where sorted values are cut into two groups with the least absolute deviation from their medians."""
    sums = np.concatenate(([0.0], np.cumsum(logs)))
    cuts = np.arange(2, logs.size - 1)
    return [int(cuts[np.argmin(_scatter(sums, 0, cuts) + _scatter(sums, cuts, logs.size))])]


def _three(logs: NDArray[np.float64]) -> list[int]:
    """Where they are cut into three, among at most a few hundred places."""
    sums = np.concatenate(([0.0], np.cumsum(logs)))
    places = np.unique(np.linspace(2, logs.size - 2, min(logs.size - 3, 300)).astype(int))
    first, second = (places[i] for i in np.triu_indices(places.size, 1))
    scatter = _scatter(sums, 0, first) + _scatter(sums, first, second) + _scatter(sums, second, logs.size)
    best = int(np.argmin(scatter))
    return [int(first[best]), int(second[best])]


def _apart(low: NDArray[np.float64], high: NDArray[np.float64]) -> bool:
    a, b = float(np.median(low)), float(np.median(high))
    spread = max(_SIGMA * float(np.median(np.abs(group - centre))) for group, centre in ((low, a), (high, b)))
    return b - a > _APART * spread


_FEWEST_FOR_FIRST = 5
_FAR = 6.0
#: Nearer than this nobody asks.
_LEAST_FIRST = 0.005


def first_run_differs(times: Sequence[float]) -> float | None:
    """By which share the first run is off the median of the others, above zero where it was slower; None where it is not.

    It is off where it lies outside of all others, by more than six of their standard deviations (by the MAD; more of few)
    from their median and by half a percent. Of fewer than five runs nothing is said. Raises ValueError where a time is not above zero.
    """
    if times and min(times) <= 0:
        raise ValueError("times must be above zero")
    if len(times) < _FEWEST_FOR_FIRST:
        return None
    first, rest = times[0], np.asarray(times[1:], dtype=float)
    centre = float(np.median(rest))
    deviation = _SIGMA * float(np.median(np.abs(rest - centre)))
    off = first / centre - 1
    outside = first > rest.max() or first < rest.min()
    # of few runs the deviation is not well known
    far = _FAR * (1 + 4 / rest.size) * deviation
    if outside and abs(first - centre) > far and abs(off) > _LEAST_FIRST:
        return off
    return None
