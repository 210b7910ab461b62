# SPDX-License-Identifier: BSD-3-Clause
"""The verdict of a scaling: speedup and parallel efficiency at each count, the law that they follow, and what it lets expect.

A count is a number of threads, ranks or nodes. Only whole blocks decide, undisturbed ones as long as these are at least half of
all; the intervals of all speedups hold together at 95%, each of a prediction in 90% of cases.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from nodewise.base.difference import WITHIN
from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.lists import listed
from nodewise.base.units import format_percent, format_seconds
from nodewise.records.answers import code_words, exit_codes_of
from nodewise.records.experiment import Experiment
from nodewise.statistics.compare import ratio_interval
from nodewise.statistics.disturbance import mostly
from nodewise.statistics.scaling import FARTHEST, FEWEST_COUNTS, LEVEL, Expected, Fits, Numbers
from nodewise.statistics.sequential import ALPHA, FEWEST_BLOCKS
from nodewise.statistics.summary import mad, median
from nodewise.statistics.verdict import format_factor
from nodewise.verdicts.disturbed import phase_met
from nodewise.verdicts.pair import FAR
from nodewise.verdicts.question import stopped_by

SCALE = "scale"
#: So many counts are asked for the least one that meets a deadline.
_ASKED = 160


@dataclass(frozen=True)
class ScalePoint:
    """One count: median and spread of a run in seconds over `runs`, speedup over the smallest count and efficiency, each with its interval.

    `ideal` is the speedup of perfect scaling; efficiency is the share of it. With weak scaling the speedup is that of a
    unit of work. `low` and `high` are None with too few runs or on a busy machine, all numbers None where no run was good, as `error` says.
    """

    count: int
    seconds: float | None
    mad_s: float | None
    runs: int
    ideal: float
    speedup: float | None
    low: float | None
    high: float | None
    efficiency: float | None
    efficiency_low: float | None
    efficiency_high: float | None
    error: str | None


@dataclass(frozen=True)
class LawFit:
    """A law of `statistics.scaling` with its coefficients a, b, …, and how far off it predicts each point from the others, as a share."""

    name: str
    formula: str
    coefficients: tuple[Expected, ...]
    left_out_error: float


@dataclass(frozen=True)
class Prediction:
    """What is expected at a count: seconds of a run, and of the job, speedup and efficiency, and hours of nodes that the job takes."""

    count: int
    seconds: Expected
    job_s: Expected
    speedup: Expected
    efficiency: Expected
    node_hours: Expected


@dataclass(frozen=True)
class Deadline:
    """Whether the job ends by a time of day: `seconds` were left when the last run had ended.

    `surely` is the smallest count that meets it with its whole interval, `likely` with the centre; None where none does up to
    `farthest`. `fastest` is what is expected of the job at the count where it ends first.
    """

    by: str
    seconds: float
    surely: Prediction | None
    likely: Prediction | None
    fastest: Prediction
    farthest: int
    sentence: str


@dataclass(frozen=True)
class ScaleVerdict:
    """How a program scales over `over` (`threads`, `ranks` or `nodes`); `weak`: its work grows with the count.

    `law` is the name of the law that describes it, None where none does, as `no_law` says; `laws` has all, the best first. The job
    is `times` as long as the program (with weak scaling: as the work of the smallest count). `curve` has the expected speedup at counts up to
    four times the largest one.
    """

    kind: str
    over: str
    weak: bool
    per_node: int
    headline: str
    sentence: str
    points: tuple[ScalePoint, ...]
    law: str | None
    no_law: str
    laws: tuple[LawFit, ...]
    curve: tuple[tuple[int, Expected], ...]
    times: float
    predictions: tuple[Prediction, ...]
    deadline: Deadline | None
    measure: str
    warnings: tuple[str, ...]
    blocks: int
    left_out: int
    runs: int
    seconds_spent: float
    stopped: str
    experiment: str


def one_of(over: str, count: int) -> str:
    """`1 thread`, `8 ranks`."""
    return f"{count} {over if count != 1 else over[:-1]}"


def judge_scale(experiment: Experiment, stopped: str | None = None) -> ScaleVerdict:
    """The verdict on a stored scaling; `stopped` is what ended it, where its own file does not say so yet. Raises InputError without any good run."""
    question = experiment.question
    over, weak = str(question["over"]), bool(question["weak"])
    counts, keys = list(question["counts"]), list(question["settings"])
    met = phase_met(experiment, SCALE).of(*keys)
    table, left_out, busy, accepted = _blocks(experiment, keys, met.which, bool(question.get("accept_disturbed")))
    errors = {k: r.sample.error for k in keys for r in experiment.of(k, SCALE) if not r.sample.ok}
    good = [i for i in range(len(keys)) if not np.isnan(table[:, i]).all()]
    if not good:
        raise InputError(f"{experiment.path} holds no good run of any count", "go on with --resume")
    for i, code in _other_codes(experiment, [keys[i] for i in good]).items():
        # of several codes that are accepted another one is another answer
        errors[keys[good[i]]], table[:, good[i]] = code, math.nan
    good = [i for i in good if not np.isnan(table[:, i]).all()]
    base = good[0]
    points = tuple(_point(counts, table, i, base, weak, busy, errors.get(keys[i])) for i in range(len(counts)))
    fits, no_law, measure = _fits([counts[i] for i in good], table[:, good], weak, over, busy)
    usable = fits is not None and not no_law
    job = _Job(over, weak, int(question["per_node"]), float(question["times"]), fits, points[base]) if fits else None
    predictions = tuple(job.at(n) for n in question["to"] if job.reaches(n)) if job and usable else ()
    deadline = _deadline(experiment, job) if job and usable else None
    order = _order(fits) if fits else []
    laws = (
        tuple(LawFit(fits.laws[i].name, fits.laws[i].formula, fits.coefficients(i), fits.errors[i]) for i in order)
        if fits
        else ()
    )
    law = laws[0].name if usable else None
    curve = tuple((n, job.at(n).speedup) for n in job.counts(40)) if job and usable else ()
    made = len(table)
    return ScaleVerdict(
        kind=SCALE,
        over=over,
        weak=weak,
        per_node=int(question["per_node"]),
        headline=_headline(points, over, busy),
        sentence=_sentence(law, no_law, over),
        points=points,
        law=law,
        no_law=no_law,
        laws=laws,
        curve=curve,
        times=float(question["times"]),
        predictions=predictions,
        deadline=deadline,
        measure=measure,
        warnings=(
            *experiment.remarks,
            *accepted,
            *([busy] if busy and not no_law.endswith(busy) else []),
            *_unlike_medians(points, base, over, weak),
            *met.conditions,
        ),
        blocks=made,
        left_out=left_out,
        runs=len(experiment.records),
        seconds_spent=experiment.records.spent_s,
        stopped=stopped or stopped_by(experiment),
        experiment=str(experiment.path),
    )


def _blocks(
    experiment: Experiment, keys: Sequence[str], spoiled: Collection[int], accepting: bool
) -> tuple[Numbers, int, str, list[str]]:
    """Seconds by block and key, NaN where none is good; how many blocks were left out, of those that are `spoiled`; why the machine was
    too busy, if it was; what of disturbed ones counts, in words."""
    rows: dict[int, list[float]] = {}
    at = {key: i for i, key in enumerate(keys)}
    for record in experiment.records:
        if record.phase != SCALE or record.setting not in at:
            continue
        row = rows.setdefault(record.block, [math.nan] * len(keys))
        if record.sample.ok and record.sample.seconds > 0:
            row[at[record.setting]] = record.sample.seconds
    quiet = [row for block, row in sorted(rows.items()) if block not in spoiled]
    every = np.array([row for _, row in sorted(rows.items())] or np.empty((0, len(keys))))
    share = f"{len(spoiled)} of {len(rows)} blocks"
    if accepting or not spoiled:
        return every, 0, "", [f"disturbed runs accepted: {share}"] if spoiled else []
    if mostly(len(spoiled), len(rows)):
        return every, 0, f"the machine was busy: {share} were disturbed", []
    return np.array(quiet), len(spoiled), "", []


def _other_codes(experiment: Experiment, keys: Sequence[str]) -> dict[int, str]:
    """Which of the settings end with codes that the first one never has, by their place, in words."""
    codes = [exit_codes_of(experiment, key, SCALE) for key in keys]
    return {
        i: f"wrong result: its exit code is {code_words(own - codes[0])}, with {keys[0]} {code_words(codes[0])}"
        for i, own in enumerate(codes)
        if own - codes[0]
    }


def _point(
    counts: Sequence[int], table: Numbers, i: int, base: int, weak: bool, busy: str, error: str | None
) -> ScalePoint:
    ideal = counts[i] / counts[base]
    times = [float(t) for t in table[:, i] if not math.isnan(t)]
    if not times or error:
        failed = error or "no good run"
        return ScalePoint(counts[i], None, None, len(times), ideal, None, None, None, None, None, None, failed)
    both = table[~np.isnan(table[:, i]) & ~np.isnan(table[:, base])]
    grown = ideal if weak else 1.0
    others = max(1, len(counts) - 1)
    ratio = None
    if len(both) and i != base:
        ratio = ratio_interval([float(t) for t in both[:, base]], [float(t) for t in both[:, i]], 1 - ALPHA / others)
    speedup = 1.0 if i == base else grown * ratio.ratio if ratio else None
    # nothing is claimed where most blocks were disturbed
    held = not busy and ratio is not None and ratio.low > 0 and math.isfinite(ratio.high)
    low, high = (grown * ratio.low, grown * ratio.high) if ratio and held else (None, None)

    def share(of: float | None) -> float | None:
        return None if of is None else of / ideal

    spread = median(times), mad(times)
    return ScalePoint(
        counts[i], *spread, len(times), ideal, speedup, low, high, share(speedup), share(low), share(high), None
    )


def _unlike_medians(points: Sequence[ScalePoint], base: int, over: str, weak: bool) -> list[str]:
    """A note where medians that are shown would give speedups more than a tenth from those shown, or of the other side of 1."""
    first, found = points[base].seconds, []
    for point in points:
        if first is None or point.seconds is None or point.speedup is None:
            continue
        plain = (point.ideal if weak else 1.0) * first / point.seconds
        far = max(plain / point.speedup, point.speedup / plain) > FAR
        turned = (plain - 1) * (point.speedup - 1) < 0 and max(abs(plain - 1), abs(point.speedup - 1)) > WITHIN
        if far or turned:
            found.append(f"{format_factor(plain)} with {one_of(over, point.count)}")
    if not found:
        return []
    return [
        f"the medians alone would give {listed(found)}; speedups are those of runs of the same block, so that what changed between blocks does not count"
    ]


def _fits(counts: Sequence[int], table: Numbers, weak: bool, over: str, busy: str) -> tuple[Fits | None, str, str]:
    """The laws fitted, why none holds, and what to measure then."""
    if len(counts) < FEWEST_COUNTS:
        missing = FEWEST_COUNTS - len(counts)
        return (
            None,
            f"no law is fitted: {len(counts)} numbers of {over} were measured, and a law takes {FEWEST_COUNTS}",
            f"{missing} more number{'s' * (missing != 1)} of {over}: --counts with {FEWEST_COUNTS} or more, on a machine that has as many",
        )
    whole = table[~np.isnan(table).any(1)]
    if len(whole) < FEWEST_BLOCKS:
        return (
            None,
            f"no law is fitted: {len(whole)} whole blocks are too few",
            f"{FEWEST_BLOCKS} whole blocks or more: --resume with a larger --budget",
        )
    units = np.array(counts, float) / counts[0] if weak else np.ones(len(counts))
    fits = Fits(np.array(counts, float), whole / units)
    if busy:
        return fits, f"no law is named: {busy}", "again on a quiet machine, or with --wait-quiet 10min"
    if not fits.fits:
        off = f"the best one is off by {format_percent(fits.misfit)}, and noise explains {format_percent(fits.noise)}"
        return fits, f"no law fits: {off}", f"more numbers of {over} where the speedup bends"
    return fits, "", ""


class _Job:
    """What the fitted laws say of the program and of the job."""

    def __init__(self, over: str, weak: bool, per_node: int, times: float, fits: Fits, base: ScalePoint):
        self._over, self._weak, self._per_node, self._times, self._fits = over, weak, per_node, times, fits
        self._first = base
        self.farthest = int(FARTHEST * fits.counts[-1])

    def reaches(self, count: int) -> bool:
        """Whether anything is said at a count."""
        return bool(self._fits.counts[0] <= count <= self.farthest)

    def counts(self, many: int = _ASKED) -> list[int]:
        """Counts from the smallest one measured to the farthest: all, or so many at even ratios."""
        first = int(self._fits.counts[0])
        if self.farthest - first < many:
            return list(range(first, self.farthest + 1))
        spread = np.geomspace(first, self.farthest, many)
        return sorted({round(float(n)) for n in spread} | {int(n) for n in self._fits.counts})

    def unit(self, count: int) -> Expected:
        """Seconds of the job at a count."""
        return _scaled(self._fits.time(count), self._times)

    def at(self, count: int) -> Prediction:
        """What is expected at a count."""
        unit = self._fits.time(count)
        base = self._first.count
        work = count / base if self._weak else 1.0
        alone = self._first.seconds or math.nan
        speedup = Expected(alone / unit.value, alone / unit.high, alone / unit.low)
        nodes = {"nodes": count, "ranks": math.ceil(count / self._per_node) if self._per_node else 1}.get(self._over, 1)
        hours = _scaled(unit, nodes * self._times / 3600)
        return Prediction(count, _scaled(unit, work), self.unit(count), speedup, _scaled(speedup, base / count), hours)


def _scaled(one: Expected, by: float) -> Expected:
    return Expected(one.value * by, one.low * by, one.high * by)


def _deadline(experiment: Experiment, job: _Job) -> Deadline | None:
    question = experiment.question
    if question["by_epoch_s"] is None:
        return None
    ended = max(r.sample.started_at + r.sample.wall_s for r in experiment.records)
    left = float(question["by_epoch_s"]) - ended
    units = {n: job.unit(n) for n in job.counts()}
    surely = next((n for n, t in units.items() if t.high <= left), None)
    likely = next((n for n, t in units.items() if t.value <= left), None)
    fastest = min(units, key=lambda n: units[n].value)
    over, by = str(question["over"]), str(question["by"])

    def said(n: int) -> str:
        one = job.at(n)
        return (
            f"{format_seconds(units[n].value)} ({format_seconds(units[n].low)} … {format_seconds(units[n].high)}), "
            f"{one.node_hours.value:.3g} node-hours"
        )

    if left <= 0:
        text = f"{by} had passed when the last run ended"
    elif surely is not None:
        text = f"by {by}: {one_of(over, surely)} {'is' if surely == 1 else 'are'} enough: {said(surely)}"
    elif likely is not None:
        text = f"by {by}: {one_of(over, likely)} may be enough, which is not sure: {said(likely)}"
    else:
        text = (
            f"by {by}: no number of {over} up to {job.farthest} is enough; the least is {said(fastest)} with {fastest}"
        )
    return Deadline(
        by,
        left,
        None if surely is None else job.at(surely),
        None if likely is None else job.at(likely),
        job.at(fastest),
        job.farthest,
        text,
    )


def _order(fits: Fits) -> list[int]:
    """The best law and then the others by their error, each once: of one with a bend that at its best place."""
    by_error = sorted(range(len(fits.laws)), key=lambda i: fits.errors[i])
    first = {fits.laws[i].name: i for i in reversed([fits.best, *by_error])}
    return [fits.best, *(i for i in by_error if i in first.values() and i != fits.best)]


def _headline(points: Sequence[ScalePoint], over: str, busy: str) -> str:
    ran = [p for p in points if p.speedup is not None]
    if len(ran) == 1:
        return f"measured with {one_of(over, ran[0].count)} only"
    best = max(ran[1:], key=lambda p: p.speedup or 0.0)
    times = format_factor(best.speedup or 0.0)
    if best.high is not None and best.high < 1:
        return f"slower with more: {times} with {one_of(over, best.count)}, {format_percent(best.efficiency or 0.0)} efficient"
    said = f"{times} with {one_of(over, best.count)}, {format_percent(best.efficiency or 0.0)} efficient"
    if busy:
        return f"{said}, on a busy machine: undecided"
    if best.low is None or best.high is None:
        return f"{said}, by too few runs for an interval"
    return f"{said}, which may be noise" if best.low <= 1 <= best.high else said


_SAID: Mapping[str, str] = {
    "amdahl": "Amdahl's law: one part is shared, the rest is not",
    "gustafson": "Gustafson's law: the speedup is a straight line",
    "usl": "the universal scalability law: each has to tell each other something",
    "tree": "the law of trees: all meet in steps, as in a collective operation",
    "halo": "the law of halos: borders are exchanged, as of a divided box",
    "power": "a power of the number, with no law behind it",
    "bend": "a law with a bend: from some number on a part of it gains nothing more",
    "slower cores": "a law with a bend: from some number on each adds less than those before, as second threads of cores do",
    "exchange": "a law of exchange: each has something for each other, one message after the other",
    "rounds": "a law of rounds: pieces that cannot be divided are dealt out, and the last round is not full",
}


def _sentence(law: str | None, no_law: str, over: str) -> str:
    return f"over {over} it follows {_SAID[law]}" if law is not None else no_law


def unreachable(over: str, counts: Sequence[int], wanted: Sequence[int], by: bool) -> tuple[str, str] | None:
    """Why counts that are to be measured cannot answer what is asked, and what to measure; None where they can."""
    what = "--to" if wanted else "--by"
    if (wanted or by) and len(counts) < FEWEST_COUNTS:
        return (
            f"{what} needs a law, which is fitted to {FEWEST_COUNTS} or more numbers of {over}: only {len(counts)} would be "
            f"measured ({', '.join(map(str, counts))})",
            f"measure {FEWEST_COUNTS} or more, such as --counts 1,2,3,4,6,8, on a machine that has as many",
        )
    for n in wanted:
        if n > FARTHEST * counts[-1]:
            return (
                f"--to {n} is beyond {FARTHEST:g} times the largest measured, {one_of(over, counts[-1])}",
                f"measure up to {one_of(over, math.ceil(n / FARTHEST))} or more",
            )
        if n < counts[0]:
            return (f"--to {n} is below the smallest measured, {one_of(over, counts[0])}", "measure it, too")
    return None


#: Said beside intervals of predictions.
PREDICTED = f"interval of {format_percent(LEVEL)} of cases; what begins beyond the largest number measured is not in it"
