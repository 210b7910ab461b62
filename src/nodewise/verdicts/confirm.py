# SPDX-License-Identifier: BSD-3-Clause
"""Whether what an experiment promised holds when it is repeated: the old ratio, the new one, and a word."""

from __future__ import annotations

import math
from enum import StrEnum

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.records.answers import answer_notes
from nodewise.records.experiment import Experiment
from nodewise.records.kind_registry import all_kinds, kind_named
from nodewise.runner.launch import launch_of
from nodewise.runner.setting import BASELINE
from nodewise.statistics.compare import Ratio
from nodewise.statistics.verdict import Word, format_factor, format_ratio
from nodewise.verdicts.compare import COMPARE, CONFIRM, CompareVerdict, compare_verdict, reference_of
from nodewise.verdicts.failures import went_on
from nodewise.verdicts.pair import PairVerdict, costs_of
from nodewise.verdicts.question import question_of, read_part, stopped_by
from nodewise.verdicts.stored import Stored
from nodewise.verdicts.tune import tune_verdict

#: A repeated ratio may fall short of the promised interval by this much, and the promise still holds.
SLACK = 0.02


class Held(StrEnum):
    """What became of a promise: as fast as promised or faster; faster, but less; no faster; slower; or undecided."""

    HOLDS = "holds"
    SMALLER = "smaller"
    GONE = "gone"
    REVERSED = "reversed"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Promise:
    """What an experiment promised: `other` is `ratio` (`low` to `high`) times as fast as `one`, both keys of settings.

    `launch_line` is that of `other`.
    """

    experiment: str
    taken_at: str
    one: str
    other: str
    ratio: float
    low: float
    high: float
    launch_line: str

    @property
    def least(self) -> float:
        """The least ratio that keeps it: a little below the promised interval, but never below half of the gain (in logs)."""
        return max(self.low / (1 + SLACK), math.sqrt(self.low))

    @property
    def sentence(self) -> str:
        """`1.63× (1.58–1.69) faster`."""
        return f"{format_ratio(Ratio(self.ratio, self.low, self.high, 0))} faster"


@dataclass(frozen=True)
class AskedPromise:
    """What the question of a repetition says besides the promise: the command that is run, its notes, and whether runs failed then."""

    command: tuple[str, ...]
    differences: tuple[str, ...]
    notes: tuple[str, ...]
    flaky: bool = False


@dataclass(frozen=True)
class ConfirmVerdict:
    """What repeating a promise found.

    `again` is the pair as measured now, `reason` why that is the word; `differences` are those between the machine and the
    conditions of then and now. `comparison` holds all that was measured.
    """

    kind: str
    verdict: Held
    sentence: str
    reason: str
    promise: Promise
    again: PairVerdict | None
    command: tuple[str, ...]
    differences: tuple[str, ...]
    notes: tuple[str, ...]
    runs: int
    seconds_spent: float
    stopped: str
    experiment: str
    comparison: CompareVerdict


#: The verdicts of experiments in which commands were compared.
Comparison = CompareVerdict | ConfirmVerdict


def comparison_of(stored: Stored[Comparison]) -> CompareVerdict:
    """What was measured of the commands of a stored comparison, also where that was to confirm a promise."""
    verdict = stored.verdict
    return verdict.comparison if isinstance(verdict, ConfirmVerdict) else verdict


_HINT = "only a decided gain can be repeated; name the directory of a tune or compare that found one"


def promise_of(experiment: Experiment) -> Promise:
    """What an experiment promised, by the `promise` of its kind.

    Raises InputError where it promised nothing: no gain was decided, or experiments of its kind promise none.
    """
    question = question_of(experiment)
    kind = kind_named(question.kind)
    if not kind.promise:
        able = ", ".join(one.name for one in all_kinds() if one.promise)
        raise InputError(f"{experiment.path} holds a {kind.name}, which promises nothing; these do: {able}", _HINT)
    pair: PairVerdict = kind.load("promise")(experiment)
    if pair.low is None or pair.high is None:
        raise InputError(f"{experiment.path} promises nothing: {pair.sentence}", _HINT)
    ratio, low, high = pair.ratio, pair.low, pair.high
    one, other = pair.one, pair.other
    if pair.verdict is Word.SLOWER:
        one, other, ratio, low, high = other, one, 1 / ratio, 1 / high, 1 / low
    return Promise(
        str(experiment.path.absolute()),
        question.started_at,
        one,
        other,
        ratio,
        low,
        high,
        launch_of(experiment.settings[other], question.start, experiment.masks).line(),
    )


def promised_by_tune(experiment: Experiment) -> PairVerdict:
    """The baseline and the setting that was found faster. Raises InputError where none was."""
    _check_good_run(experiment, BASELINE)
    found = tune_verdict(experiment, stopped_by(experiment))
    if found.verdict is not Word.FASTER or found.comparison is None:
        raise InputError(f"{experiment.path} promises nothing: {found.sentence}", _HINT)
    return found.comparison


def promised_by_compare(experiment: Experiment) -> PairVerdict:
    """The pair of a comparison that promises most: the fastest against the reference, else the reference against the slowest.

    Raises InputError where nothing was decided.
    """
    _check_good_run(experiment, reference_of(experiment))
    contenders = compare_verdict(experiment, stopped_by(experiment)).contenders
    pairs = [c.against_reference for c in contenders if c.against_reference is not None and c.error is None]
    faster = [p for p in pairs if p.verdict is Word.FASTER]
    slower = [p for p in pairs if p.verdict is Word.SLOWER]
    if faster:
        return max(faster, key=lambda p: p.ratio)
    if slower:
        return min(slower, key=lambda p: p.ratio)
    reached = "; ".join(p.sentence for p in pairs) or "nothing was compared"
    raise InputError(
        f"{experiment.path} promises nothing: {reached}",
        "only a decided difference can be repeated; name the directory of a tune or compare that found one",
    )


def _check_good_run(experiment: Experiment, key: str) -> None:
    if not costs_of(experiment, key):
        raise InputError(f"{experiment.path} holds no good run of the {key}", _HINT)


def judge_promise(promise: Promise, again: PairVerdict | None, failure: str | None) -> tuple[Held, str]:
    """The word, and why in words; `failure` says how the promised setting failed, where it did.

    It holds where the new ratio is within the promised interval or above it, by `SLACK`: surely (all of the new interval
    is), or as far as can be measured (the new interval reaches there, and so does the ratio itself).
    """
    if failure is not None:
        return Held.GONE, f"the promised setting fails: {failure}"
    if again is None:
        return Held.UNDECIDED, "there is no run of both"
    least = promise.least
    high = math.inf if again.high is None else again.high
    if again.verdict is Word.SLOWER:
        return Held.REVERSED, "the promised setting is slower now"
    if again.verdict is Word.FASTER:
        if again.ratio >= least:
            return Held.HOLDS, ""
        if high < least:
            return (
                Held.SMALLER,
                f"it is faster, but less than the {format_factor(promise.low)} that were promised at least",
            )
        return (
            Held.UNDECIDED,
            f"it is faster; whether by the promised {format_factor(promise.low)} the noise leaves open",
        )
    if again.low is None or again.high is None:
        return Held.UNDECIDED, again.reason or "there were too few runs"
    # a promise so small that no difference within what counts as none still keeps it
    if again.low >= least:
        return Held.HOLDS, ""
    if high < least:
        return Held.GONE, "as fast as without it, as far as can be measured"
    if again.verdict is Word.NO_DIFFERENCE:
        return Held.UNDECIDED, "the promised gain is as small as what counts as none"
    return Held.UNDECIDED, again.reason or "the noise leaves it open"


def confirm_verdict(experiment: Experiment, stopped: str) -> ConfirmVerdict:
    """Judge a repetition, from what was recorded."""
    kept = experiment.question.get("promise")
    promise = read_part(Promise, kept, experiment.path)
    asked = read_part(AskedPromise, kept, experiment.path)
    comparison = compare_verdict(experiment, stopped)
    row = comparison.contenders[1]
    again = row.against_reference if row.runs else None
    counted = f" in {row.failed} of {row.runs + row.failed} runs" if row.failed else ""
    failure = row.error and row.error + counted
    if row.failed and went_on(experiment, row.name, COMPARE):
        failure = None
    held, reason = judge_promise(promise, again, failure)
    now = again.sentence if again is not None and failure is None else reason
    return ConfirmVerdict(
        kind=CONFIRM,
        verdict=held,
        sentence=f"{held.value}: {promise.sentence} promised; now {now}",
        reason=reason,
        promise=promise,
        again=again,
        command=asked.command,
        differences=asked.differences,
        notes=(*asked.notes, *answer_notes(experiment), *comparison.warnings),
        runs=comparison.runs,
        seconds_spent=comparison.seconds_spent,
        stopped=stopped,
        experiment=str(experiment.path),
        comparison=comparison,
    )
