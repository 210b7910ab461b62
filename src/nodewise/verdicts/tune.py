# SPDX-License-Identifier: BSD-3-Clause
"""The verdict of a tune, from its experiment alone: what was recorded says all, so it can be drawn again anywhere."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from nodewise.base.frozen import dataclass
from nodewise.base.units import format_percent
from nodewise.records.answers import answer_notes
from nodewise.records.earlier import StartedFrom, started_from
from nodewise.records.experiment import Experiment
from nodewise.records.sample_lines import Plan
from nodewise.runner.setting import BASELINE, Setting
from nodewise.statistics.compare import Ratio
from nodewise.statistics.resolution import MOST_MORE, pairs_to_narrow
from nodewise.statistics.sequential import FEWEST_BLOCKS, Looks
from nodewise.statistics.summary import mad, median
from nodewise.statistics.verdict import Verdict, Word, format_ratio
from nodewise.verdicts.ablation import Ablations, ablations_of
from nodewise.verdicts.disturbed import phase_met
from nodewise.verdicts.failures import failures_of, left_out_notes, settings_to_blame, shared_failures
from nodewise.verdicts.launch import Launch, launched, to_be_set_note
from nodewise.verdicts.left_behind import left_behind_notes
from nodewise.verdicts.never_ended import cut_off_notes, given_up, why_no_other
from nodewise.verdicts.pair import (
    Pairs,
    PairVerdict,
    costs_of,
    judge_pairs,
    medians_explained,
    pair_up,
    pair_verdict,
    values_of,
)
from nodewise.verdicts.question import question_of
from nodewise.verdicts.ranks import RankTable, ranks_of
from nodewise.verdicts.secondary import MetricSummary, SecondaryMetrics, energy_notes, interval_of, metric_notes
from nodewise.verdicts.spent import seconds_spent
from nodewise.verdicts.steadiness import of_both, other_gain, slow_runs_note, unsteady_note
from nodewise.verdicts.untried import untried_notes

TUNE = "tune"
#: The phase of the runs that decide.
CONFIRM = "confirm"
#: No fewer blocks than this part of those made are said to decide what they left open.
_LEAST_MORE = 0.5


@dataclass(frozen=True)
class SettingSummary:
    """A setting's runs in the metric's unit: centre, spread, the 95% interval of the median (None below six runs).

    `dropped_after` is the last block of the search that it ran in, where it left before the end.
    """

    key: str
    values: Mapping[str, Any]
    runs: int
    failed: int
    median: float | None
    mad: float | None
    low: float | None
    high: float | None
    dropped_after: int | None
    metrics: Mapping[str, MetricSummary]


@dataclass(frozen=True)
class TuneVerdict:
    """What a tune found: the launch to keep, and what the runs bear of it.

    `best` is the baseline unless `verdict` is `faster`; `candidate` is the setting that was held against it. `ratio` is how
    many times as fast the candidate is, `low` and `high` its interval (None: none), `reason` why nothing is decided,
    `more_runs` how many more would probably decide it. `axes` are each one's share of a decided gain, 0 where it is not surely any;
    of the axes `unseparated` the runs do not say whether they bring anything. Medians are in the unit of `metric`. `ranks` are those of `best`, None where no launcher
    starts it. `history` are the earlier tunes that led the search.
    """

    kind: str
    verdict: Word
    sentence: str
    reason: str
    ratio: float
    low: float | None
    high: float | None
    within: float
    beyond: float | None
    more_runs: int | None
    best: Launch
    baseline: Launch
    candidate: str
    comparison: PairVerdict | None
    metric: str
    maximise: bool
    shown: tuple[str, ...]
    currency: str
    runs: int
    seconds_spent: float
    axes: Mapping[str, float]
    unseparated: tuple[str, ...]
    why: tuple[str, ...]
    settings: tuple[SettingSummary, ...]
    pareto: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]
    stopped: str
    experiment: str
    ranks: RankTable | None = None
    history: tuple[StartedFrom, ...] = ()

    def summary(self, key: str) -> SettingSummary:
        """The summary of one setting. Raises KeyError."""
        for one in self.settings:
            if one.key == key:
                return one
        raise KeyError(key)


def tune_verdict(experiment: Experiment, stopped: str) -> TuneVerdict:
    """Judge a tune; `stopped` says what ended it: `decided`, `budget`, `interrupted`, `cut off`, or `nothing left` where nothing is
    left to be tried, and what could be compared failed or was none.
    """
    candidate = _candidate(experiment)
    pairs, verdict, reason = _compare(experiment, candidate)
    unsteady = []
    if (then := other_gain(experiment, candidate, verdict, CONFIRM)) is not None:
        unsteady.append(unsteady_note(then, verdict.ratio))
        verdict, reason = of_both(verdict, then)
    failed, made = failures_of(experiment, BASELINE)
    fails = verdict.word is Word.UNDECIDED and 2 * failed > made
    if fails:
        # the few runs that ended well are no longer those of the program
        reason = f"the program does not run as it is: {failed} of {made} runs failed"
    comparison = (
        None
        if candidate == BASELINE
        else pair_verdict(BASELINE, candidate, pairs, (verdict, reason), _accepting(experiment))
    )
    ablations = _ablations(experiment, candidate, verdict)
    ratio = verdict.ratio
    baseline = experiment.settings[BASELINE]
    best = experiment.settings[candidate] if verdict.word is Word.FASTER else baseline
    dropped = _dropped_after(experiment)
    secondary = SecondaryMetrics(experiment)
    summaries = [_summary(experiment, key, dropped.get(key), secondary) for key in experiment.settings]
    maximise = experiment.objective.maximise
    sign = -1 if maximise else 1
    return TuneVerdict(
        kind=TUNE,
        verdict=verdict.word,
        sentence=f"undecided: {reason}" if comparison is None or fails else comparison.sentence,
        reason=reason,
        ratio=ratio.ratio,
        low=ratio.low if ratio.low > 0 else None,
        high=ratio.high if math.isfinite(ratio.high) else None,
        within=verdict.within,
        beyond=verdict.beyond if math.isfinite(verdict.beyond) else None,
        more_runs=None
        if unsteady or fails or comparison is None
        else _more_runs(verdict, pairs, _accepting(experiment)),
        best=launched(experiment, best),
        baseline=launched(experiment, baseline),
        candidate=candidate,
        comparison=comparison,
        metric=experiment.objective.metric,
        maximise=maximise,
        shown=tuple(o.metric for o in experiment.shown.metrics),
        currency=experiment.shown.currency,
        runs=len(experiment.records),
        seconds_spent=seconds_spent(experiment),
        axes=_shares(experiment, candidate, verdict, ablations),
        unseparated=ablations.unseparated,
        why=_why(experiment, best),
        settings=tuple(sorted(summaries, key=lambda s: math.inf if s.median is None else sign * s.median)),
        pareto=secondary.pareto_fronts(summaries),
        notes=(
            *unsteady,
            *_slow_runs(experiment, verdict, pairs),
            *_notes(experiment, verdict, comparison, ablations),
            *energy_notes(experiment),
            *metric_notes(experiment),
            *to_be_set_note(experiment, best),
        ),
        stopped=stopped,
        experiment=str(experiment.path),
        ranks=ranks_of(experiment, best.key),
        history=tuple(started_from(one) for one in question_of(experiment).earlier),
    )


def _slow_runs(experiment: Experiment, verdict: Verdict, pairs: Pairs) -> list[str]:
    if verdict.word is not Word.FASTER:
        return []
    metric = experiment.objective
    note = slow_runs_note(pairs, metric.metric, metric.maximise, _accepting(experiment))
    return [note] if note else []


def _accepting(experiment: Experiment) -> bool:
    return question_of(experiment).accept_disturbed


def _candidate(experiment: Experiment) -> str:
    """The setting that was confirmed; where it did not come to that, the best median of those that ran more than once.

    One that fails more often than the program as it is, or was cut off again and again, is never the candidate.
    """
    failed = {*settings_to_blame(experiment), *given_up(experiment, CONFIRM)}
    plans = [p for p in experiment.plans if p.candidate in experiment.settings and p.candidate not in failed]
    # of one that was only ever cut off nothing is known but that it is slower
    plans = [p for p in plans if costs_of(experiment, p.candidate)]
    if plans:
        return next((p.candidate for p in reversed(plans) if _looked(experiment, p)), plans[-1].candidate)
    times = {
        key: good
        for key in experiment.settings
        if key != BASELINE and key not in failed and (good := costs_of(experiment, key))
    }
    if not times:
        return BASELINE
    repeated = {k: t for k, t in times.items() if len(t) > 1} or times
    return min(repeated, key=lambda k: median(repeated[k]))


def plan_of(experiment: Experiment, candidate: str) -> Plan | None:
    """The last plan of a comparison with a setting."""
    return next((p for p in reversed(experiment.plans) if p.candidate == candidate), None)


def _looked(experiment: Experiment, plan: Plan) -> bool:
    """Whether a comparison came to its first look: before it nothing can be said, and so not in error."""
    return len(pair_up(experiment, BASELINE, plan.candidate, CONFIRM).one) >= plan.looks[0]


def _compare(experiment: Experiment, candidate: str) -> tuple[Pairs, Verdict, str]:
    within = question_of(experiment).within
    plan = plan_of(experiment, candidate)
    nothing = Pairs((), (), ())
    if candidate == BASELINE:
        why = why_no_other(experiment, CONFIRM)
        return nothing, Verdict(Word.UNDECIDED, Ratio(1.0, 0.0, math.inf, 0), within), why
    if plan is not None:
        pairs = pair_up(experiment, BASELINE, candidate, CONFIRM)
        if pairs.one:
            level = Looks(plan.looks, plan.alpha).level
            accept = _accepting(experiment)
            # a launch line is changed only for what is surely more than counts as none
            return pairs, *judge_pairs(pairs, lambda _: level, within, final=True, accept_disturbed=accept, surely=True)
    # without a confirmation there is a guess but no interval: the candidate was picked for its good luck, too
    guess = median(costs_of(experiment, BASELINE)) / median(costs_of(experiment, candidate))
    return nothing, Verdict(Word.UNDECIDED, Ratio(guess, 0.0, math.inf, 0), within), _unconfirmed(experiment)


def _unconfirmed(experiment: Experiment) -> str:
    """Why what looks best was not confirmed."""
    to_blame = settings_to_blame(experiment)
    gone = [key for key in dict.fromkeys(p.candidate for p in experiment.plans) if key in to_blame]
    if not gone:
        return "there were too few runs to confirm it"
    failed, runs = failures_of(experiment, gone[-1])
    others = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
    return f"{gone[-1]}{others} looked faster and failed ({failed} of {runs} runs); too few runs were left to confirm another"


def _more_runs(verdict: Verdict, pairs: Pairs, accept_disturbed: bool) -> int | None:
    """How many more runs of both together would probably decide: intervals narrow with the root of their number.

    None where something is decided, or where nothing is known of it.
    """
    ratio = verdict.ratio
    if verdict.word is not Word.UNDECIDED or (pairs.busy and not accept_disturbed):
        return None
    if not ratio.has_interval:
        return 2 * (FEWEST_BLOCKS - len(pairs.one)) if len(pairs.one) < FEWEST_BLOCKS else None
    # narrow enough to leave out what counts as none, or to lie within it
    wanted = abs(math.log1p(verdict.within) - abs(math.log(ratio.ratio)))
    more = pairs_to_narrow(ratio, len(pairs.one), wanted)
    # so near to a word that a few runs might do, the next may as well lead away from it
    return 2 * min(MOST_MORE, max(2, math.ceil(len(pairs.one) * _LEAST_MORE), more))


def _ablations(experiment: Experiment, candidate: str, verdict: Verdict) -> Ablations:
    """What is known of each axis of a setting that is faster."""
    if verdict.word is not Word.FASTER:
        return Ablations({}, verdict.within)
    return ablations_of(experiment, candidate, verdict.within, _accepting(experiment))


def _shares(experiment: Experiment, candidate: str, verdict: Verdict, ablations: Ablations) -> dict[str, float]:
    """How much of the gain each axis surely brought: what is lost when that axis alone is put back."""
    shares = dict.fromkeys(question_of(experiment).axes, 0.0)
    plan = plan_of(experiment, candidate)
    if plan is None or verdict.word is not Word.FASTER:
        return shares
    if not plan.ablations and len(changed := list(experiment.settings[candidate].values)) == 1:
        return shares | {changed[0]: 1.0}
    return shares | ablations.shares(math.log(verdict.ratio.ratio))


def _summary(experiment: Experiment, key: str, dropped: int | None, secondary: SecondaryMetrics) -> SettingSummary:
    at = experiment.records.of(key)
    values = values_of(experiment, key)
    low, high = interval_of(values)
    return SettingSummary(
        key=key,
        values=dict(experiment.settings[key].values),
        runs=int(at.size),
        failed=int(at.size) - int(experiment.records.ok[at].sum()),
        median=median(values) if values else None,
        mad=mad(values) if values else None,
        low=low,
        high=high,
        dropped_after=dropped,
        metrics=secondary.of(at),
    )


def _dropped_after(experiment: Experiment) -> dict[str, int]:
    """For each setting that left the search before its last block, the last one that it ran in."""
    records = experiment.records
    if "search" not in records.phases:
        return {}
    searched = records.phase_codes == records.phases.index("search")
    last: npt.NDArray[np.int64] = np.full(len(records.keys), -1, dtype=np.int64)
    np.maximum.at(last, records.codes[searched], records.blocks[searched])
    return {key: int(last[i]) for i, key in enumerate(records.keys) if 0 <= last[i] < last.max()}


def _notes(experiment: Experiment, verdict: Verdict, comparison: PairVerdict | None, ablations: Ablations) -> list[str]:
    notes = []
    question = question_of(experiment)
    if not question.machine_is_live:
        notes.append(
            "the machine is not this one: settings were handed over by environment, nothing was bound, and the times are those of the "
            "machine that the program ran on"
        )
    for name, values in question.axes.items():
        if len(values) == 1:
            notes.append(f"{name}: nothing to choose from here")
    if comparison is not None and comparison.disturbed and not comparison.reason:
        undisturbed = comparison.blocks - comparison.disturbed
        counted = "decided, too" if question.accept_disturbed or comparison.pairs > undisturbed else "did not decide"
        notes.append(f"{comparison.disturbed} of {comparison.blocks} deciding blocks were disturbed and {counted}")
    if comparison is not None and comparison.blocks:
        notes += phase_met(experiment, CONFIRM).of(comparison.one, comparison.other).conditions
    if comparison is not None and comparison.blocks:
        pair = (comparison.one, comparison.other)
        decided = medians_explained(
            comparison,
            [median(costs_of(experiment, key, CONFIRM)) for key in pair],
            which="the medians of the runs that decide",
        )
        # those that are shown are of all runs, also of the search: small differences from these need no word
        shown = medians_explained(
            comparison,
            [median(costs_of(experiment, key)) for key in pair],
            comparison.within,
            "the medians of all runs",
        )
        notes += filter(None, [decided or shown])
    failed, runs = failures_of(experiment, BASELINE)
    if failed:
        notes.append(f"the program failed in {failed} of {runs} runs as it is")
    notes += left_behind_notes(experiment, BASELINE)
    notes += untried_notes(experiment)
    if question.earlier and question.refuted:
        notes.append("what the earlier tunes suggest does not hold here: the search went on without it")
    to_blame = settings_to_blame(experiment)
    notes += left_out_notes(to_blame)
    notes += cut_off_notes(experiment, CONFIRM)
    candidate = _candidate(experiment)
    failed, runs = failures_of(experiment, candidate)
    if failed and candidate != BASELINE:
        notes.append(f"{candidate} failed in {failed} of {runs} runs")
    if verdict.word is Word.FASTER and not failures_of(experiment, BASELINE)[0]:
        notes += shared_failures(experiment, candidate)
    notes += ablations.notes()
    looked = [plan for plan in experiment.plans if _looked(experiment, plan)]
    if len(looked) > 1:
        shares = ", ".join(format_percent(plan.alpha) for plan in looked)
        notes.append(
            f"{len(looked)} comparisons with the baseline were made one after another; of all errors allowed "
            f"they had {shares}, so that together they keep to 5%"
        )
    if verdict.word is Word.SLOWER:
        notes.append(f"the best setting found was slower, {format_ratio(verdict.ratio)}; the baseline therefore stays")
    notes += answer_notes(experiment)
    notes += experiment.remarks
    return notes


def _why(experiment: Experiment, best: Setting) -> tuple[str, ...]:
    """For each knob that the best setting changes, what it does, why it helps here, and where that is documented."""
    reported = []
    for name, knob in question_of(experiment).knobs.items():
        reason = knob.why.get(str(best.values.get(name)), "")
        if reason:
            value = str(best.values[name])
            source = knob.sources.get(value, knob.source)
            reported.append(f"{name}={value} ({knob.variable}): {reason} See {source}")
    return tuple(reported)
