# SPDX-License-Identifier: BSD-3-Clause
"""The verdict of a comparison, from its experiment alone."""

from __future__ import annotations

import itertools
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.lists import listed
from nodewise.base.masking import masked_names, shell_text, to_be_set
from nodewise.base.units import format_count, format_seconds
from nodewise.records.experiment import Experiment
from nodewise.runner.objective import WORK, format_metric
from nodewise.statistics.sequential import ALPHA, OpenLooks
from nodewise.statistics.summary import mad, median
from nodewise.statistics.verdict import Word, format_ratio
from nodewise.statistics.work import efficiency
from nodewise.verdicts.baseline import AgainstBaseline
from nodewise.verdicts.disturbed import PhaseMet, phase_met
from nodewise.verdicts.failures import went_on
from nodewise.verdicts.isolated import memory_notes, own_wall
from nodewise.verdicts.left_behind import left_behind_notes
from nodewise.verdicts.pair import (
    WHEN_BUSY,
    PairVerdict,
    costs_of,
    judge_pairs,
    medians_explained,
    pair_up,
    pair_verdict,
    values_of,
)
from nodewise.verdicts.question import AskedContender, Question, question_of
from nodewise.verdicts.secondary import MetricSummary, SecondaryMetrics, energy_notes, interval_of, metric_notes
from nodewise.verdicts.shape import Shape, shape_notes, shape_of
from nodewise.verdicts.spent import seconds_spent

COMPARE, RUN, CONFIRM = "compare", "run", "confirm"
#: With more contenders than this each is compared with the reference only, since each further pair widens all intervals.
_ALL_PAIRS_UP_TO = 5
#: Wall time this many times the processor time: the program mostly waited.
_WAITING = 1.5
#: A shell's own start is a part of what is measured below this.
_SHORT_S = 0.005


def comparisons(names: Sequence[str]) -> list[tuple[str, str]]:
    """The pairs that are compared: all of them, or with many contenders each with the first; at least one."""
    if len(names) <= _ALL_PAIRS_UP_TO:
        return list(itertools.combinations(names, 2))
    return [(names[0], other) for other in names[1:]]


def looks_of(pairs: int) -> OpenLooks:
    """When to look at that many comparisons, and at which level each: at 95% all of them hold together."""
    return OpenLooks(ALPHA, max(1, pairs))


@dataclass(frozen=True)
class Work:
    """What a contender's runs did: `amount` of a `kind` of work a run, `rate` of it a second.

    `rate_ratio` and `redundancy` are against the reference, None where its work is not known.
    """

    kind: str
    amount: float
    rate: float
    rate_ratio: float | None
    redundancy: float | None


@dataclass(frozen=True)
class ContenderSummary:
    """A contender's runs in the metric's unit, and how it compares with the reference (None: it is the reference)."""

    name: str
    command: str
    shell: str | None
    values: Mapping[str, Any]
    runs: int
    failed: int
    error: str | None
    median: float | None
    mad: float | None
    low: float | None
    high: float | None
    mean: float | None
    stddev: float | None
    min: float | None
    max: float | None
    medians: Mapping[str, float]
    shape: Shape
    metrics: Mapping[str, MetricSummary]
    disturbed: int
    work: Work | None
    against_reference: PairVerdict | None

    @property
    def key(self) -> str:
        """Its name."""
        return self.name


@dataclass(frozen=True)
class CompareVerdict:
    """What a comparison found. All intervals hold together at 95%, however early it was ended.

    `fastest` are the contenders of which no other is surely better; `baseline` is the comparison with an earlier
    experiment, where one was named.
    """

    kind: str
    metric: str
    maximise: bool
    shown: tuple[str, ...]
    currency: str
    contenders: tuple[ContenderSummary, ...]
    pairs: tuple[PairVerdict, ...]
    fastest: tuple[str, ...]
    pareto: Mapping[str, tuple[str, ...]]
    blocks: int
    runs: int
    within: float
    level: float
    warnings: tuple[str, ...]
    seconds_spent: float
    stopped: str
    experiment: str
    baseline: AgainstBaseline | None = None


def reference_of(experiment: Experiment) -> str:
    """The name of the first contender. Raises InputError where the question names none."""
    contenders = question_of(experiment).contenders
    if not contenders:
        raise InputError(f"{experiment.path / 'question.json'} is damaged: it names no contenders")
    return contenders[0].name


def _pair(
    experiment: Experiment, question: Question, one: str, other: str, looks: OpenLooks, met: PhaseMet
) -> PairVerdict:
    """Two contenders: how many times faster `other` is than `one`."""
    pairs = pair_up(experiment, one, other, COMPARE, met)
    accept = question.accept_disturbed
    verdict, reason = judge_pairs(pairs, looks.level, question.within, final=True, accept_disturbed=accept)
    if reason.endswith("too few"):
        reason += f", {looks.fewest} may do"
    return pair_verdict(one, other, pairs, (verdict, reason), accept)


def _work(experiment: Experiment, key: str) -> tuple[str, float] | None:
    """What a contender's runs did, and how much of it (the median); None where nobody counted."""
    records = experiment.records
    own = records.of(key, COMPARE)
    own = own[experiment.counted[own]]
    groups = [("metrics", name) for name in WORK] + [("usage", "instructions")]
    for group, name in groups:
        if (group, name) in records.named:
            found = records.column(group, name)[own]
            found = found[found > 0]
            if found.size:
                return name, float(np.median(found))
    return None


def _medians(experiment: Experiment, key: str) -> dict[str, float]:
    """The medians of all that was counted for a contender's good runs."""
    records = experiment.records
    own = records.of(key, COMPARE)
    own = own[experiment.counted[own]]
    found = {name: records.column(group, name)[own] for group, name in records.named}
    found |= {"seconds": records.plain("seconds")[own], "wall_s": records.plain("wall_s")[own]}
    if {"user_s", "system_s"} <= found.keys():
        found["cpu_s"] = found["user_s"] + found["system_s"]
    return {name: float(np.nanmedian(column)) for name, column in found.items() if (~np.isnan(column)).any()}


def _row(
    experiment: Experiment,
    secondary: SecondaryMetrics,
    contender: AskedContender,
    pair: PairVerdict | None,
    disturbed: int,
) -> ContenderSummary:
    key = contender.name
    setting = experiment.settings.get(key)
    values = values_of(experiment, key, COMPARE)
    low, high = interval_of(values)
    at = experiment.records.of(key, COMPARE)
    bad = _failures(experiment, key)
    return ContenderSummary(
        name=key,
        command=shell_text(contender.text),
        shell=contender.shell,
        values=dict(setting.values) if setting is not None else {},
        runs=len(values),
        failed=sum(experiment.records[i].phase == COMPARE for i in bad),
        error=experiment.records[bad[-1]].sample.error if bad else None,
        median=median(values) if values else None,
        mad=mad(values) if values else None,
        low=low,
        high=high,
        mean=float(np.mean(values)) if values else None,
        stddev=float(np.std(values, ddof=1)) if len(values) > 1 else None,
        min=min(values) if values else None,
        max=max(values) if values else None,
        medians=_medians(experiment, key) if values else {},
        shape=shape_of(experiment, key, COMPARE) if values else Shape(),
        metrics=secondary.of(at) if values else {},
        disturbed=disturbed,
        work=None,
        against_reference=pair,
    )


def _failures(experiment: Experiment, key: str) -> list[int]:
    """Which of a contender's runs failed, in their order; not those that were only cut off where the budget ended."""
    records, limit = experiment.records, experiment.question.get("timeout_s")
    bad = [int(i) for i in records.of(key) if not records.ok[i]]
    return [i for i in bad if not records[i].sample.stopped_before(limit)]


def _with_work(experiment: Experiment, rows: list[ContenderSummary]) -> list[ContenderSummary]:
    """Speed, rate and redundancy side by side, for the contenders whose runs counted the same kind of work."""
    ran = [r for r in rows if r.runs]
    work = {r.name: _work(experiment, r.name) for r in ran}
    kind = next((w[0] for w in work.values() if w is not None), None)
    timed = experiment.objective.metric in ("seconds", "wall_s", "cpu_s")
    if kind is None or not ran or ran[0] is not rows[0] or not timed:
        return rows
    amounts = [w[1] if (w := work[r.name]) is not None and w[0] == kind else None for r in ran]
    times = [float(r.median or 0.0) for r in ran]
    speedups = [r.against_reference.ratio if r.against_reference else 1.0 for r in ran]
    made: dict[str, Work] = {}
    for row, one, amount in zip(ran, efficiency(times, amounts, 0, speedups), amounts, strict=True):
        if amount is not None and one.rate is not None:
            made[row.name] = Work(kind, amount, one.rate, one.rate_ratio, one.redundancy)
    return [replace(r, work=made.get(r.name)) for r in rows]


#: The most contenders that are named where several may be the best; a note that so many commands share is given once for all of them.
_NAMED, _SHARED = 6, 3
_ALIKE = {
    "waits": "wait for something else than the processor (files, network, sleep), which is then what is measured",
    "shell": f"take less than {format_seconds(_SHORT_S)}, and the start of the shell is a part of it; with -N there is none",
    "disturbed": "were disturbed in many runs; `nodewise quiet` says by what",
    "noise": "cannot be distinguished from the reference yet",
    "medians": "have medians that alone would give another ratio; it is that of runs of the same block, so that what changed between "
    "blocks does not count",
}
_MORE = {"runs": "more runs would decide it", "budget": "`--resume {0} --budget …` goes on with it"}
_MORE |= dict.fromkeys(("interrupted", "cut off"), "`--resume {0}` goes on with it")


def _more(stopped: str, experiment: Experiment) -> str:
    return f": {_MORE[stopped].format(shlex.quote(str(experiment.path)))}" if stopped in _MORE else ""


def _warnings(experiment: Experiment, rows: Sequence[ContenderSummary], stopped: str, warmup: int) -> tuple[str, ...]:
    found = [(row.name, kind, text) for row in rows for kind, text in _notes(experiment, row, stopped, warmup)]
    noisy = {name for name, kind, _ in found if kind == "noise"}
    if len(noisy) < _SHARED:
        # why a pair is not decided says already that both were disturbed
        open_pairs = [p for row in rows if row.name in noisy and (p := row.against_reference) is not None and p.busy]
        said = {name for pair in open_pairs for name in (pair.one, pair.other)}
        found = [f for f in found if f[1] != "disturbed" or f[0] not in said]
    counts = Counter(kind for _, kind, _ in found)
    warnings: dict[str, None] = {}
    for name, kind, text in found:
        if kind in _ALIKE and counts[kind] >= _SHARED:
            which = "all commands" if counts[kind] == len(rows) else f"{counts[kind]} of {len(rows)} commands"
            more = _more(stopped, experiment) if kind == "noise" else ""
            warnings[f"{which} {_ALIKE[kind]}{more}"] = None
        else:
            warnings[text if len(rows) == 1 else f"{name}: {text}"] = None
    return tuple(warnings)


def _notes(experiment: Experiment, row: ContenderSummary, stopped: str, warmup: int) -> list[tuple[str, str]]:
    """What is to be known of a contender's runs: a kind and a text for each."""
    notes = []
    made = int(experiment.records.of(row.name, COMPARE).size)
    kind = experiment.question["kind"]
    if row.error and (kind == RUN or (kind == CONFIRM and went_on(experiment, row.name, COMPARE))):
        counted = f"{row.failed} of {format_count(made, 'run')}" if row.failed else "the warm-up"
        notes.append(("failed", f"failed in {counted}; only the other runs are reported: {row.error}"))
    elif row.error:
        when = format_count(row.failed, "run") if row.failed else "the warm-up"
        notes.append(("failed", f"failed in {when} and was left out from then on: {row.error}"))
    notes += [("stopped", text) for text in _stopped_note(experiment, row)]
    notes += [("left behind", text) for text in left_behind_notes(experiment, row.name)]
    if not row.runs or row.median is None:
        return notes
    cpu, wall = row.medians.get("cpu_s"), own_wall(experiment, row.name, row.medians)
    if row.disturbed > 0.2 * made:
        text = f"{row.disturbed} of {format_count(made, 'run')} {'was' if row.disturbed == 1 else 'were'} disturbed; `nodewise quiet` says by what"
        notes.append(("disturbed", text))
    elif cpu is not None and wall is not None and wall > _WAITING * cpu and wall - cpu > 0.005:
        text = f"it takes {format_seconds(wall)} but the processor only {format_seconds(cpu)}: it waits for something else "
        notes.append(("waits", f"{text}(files, network, sleep), which is then what is measured"))
    if row.shell and wall is not None and wall < _SHORT_S:
        text = (
            f"it takes less than {format_seconds(_SHORT_S)}, and the start of the shell ({row.shell}) is a part of it"
        )
        notes.append(("shell", f"{text}; with -N there is none"))
    notes += [("shape", text) for text in shape_notes(experiment, row.shape, warmup)]
    pair = row.against_reference
    if pair is None:
        return notes
    if pair.verdict is Word.UNDECIDED and stopped != "failed":
        notes.append(("noise", _open(pair, _more(stopped, experiment))))
    reference = costs_of(experiment, pair.one, COMPARE)
    if reference:
        explained = medians_explained(pair, (median(reference), median(costs_of(experiment, pair.other, COMPARE))))
        notes += [("medians", explained)] if explained else []
    return notes


def _stopped_note(experiment: Experiment, row: ContenderSummary) -> list[str]:
    """The note on a run that was cut off where the budget ended, if it took longer than the others."""
    records, limit = experiment.records, experiment.question.get("timeout_s")
    own = records.of(row.name)
    cut = [s for i in own if not records.ok[i] and (s := records[int(i)].sample).stopped_before(limit)]
    longest = max((float(records.plain("wall_s")[i]) for i in own if records.ok[i]), default=0.0)
    if not cut or cut[-1].wall_s < _WAITING * longest:
        return []
    others = f"; the slowest of the others took {format_seconds(longest)}" if longest else ""
    return [f"a run was stopped after {format_seconds(cut[-1].wall_s)}, where the budget ended{others}: does it hang?"]


def _open(pair: PairVerdict, more: str) -> str:
    """Why a pair is not decided, and what would decide it."""
    if pair.busy:
        return f"undecided: {pair.reason}; `nodewise quiet` says with what, {WHEN_BUSY}"
    if pair.low is None or pair.high is None:
        return f"undecided: {pair.reason}{more}"
    return f"noise hides the answer after {format_count(pair.pairs, 'run')}, {format_span(pair.low, pair.high)} is possible{more}"


def format_span(low: float, high: float) -> str:
    """`0.98× to 1.03×`."""
    return f"{low:.3f}× to {high:.3f}×"


def compare_verdict(experiment: Experiment, stopped: str, besides: int = 0) -> CompareVerdict:
    """Judge a comparison; `stopped`: `decided`, `runs`, `budget`, `failed`, `interrupted` or `cut off`. So many intervals `besides` hold, too."""
    question = question_of(experiment)
    contenders = question.contenders
    names = [c.name for c in contenders]
    pairs = comparisons(names)
    looks = looks_of(len(pairs) + besides)
    met = phase_met(experiment, COMPARE)
    judged = [_pair(experiment, question, one, other, looks, met) for one, other in pairs]
    first = {p.other: p for p in judged if p.one == names[0]}
    secondary = SecondaryMetrics(experiment)
    rows = [_row(experiment, secondary, c, first.get(c.name), met.of(c.name).disturbed_runs) for c in contenders]
    rows = _with_work(experiment, rows)
    blocks = max((r.runs for r in rows), default=0)
    return CompareVerdict(
        kind=question.kind,
        metric=experiment.objective.metric,
        maximise=experiment.objective.maximise,
        shown=tuple(o.metric for o in experiment.shown.metrics),
        currency=experiment.shown.currency,
        contenders=tuple(rows),
        pairs=tuple(judged),
        fastest=_fastest(rows, judged),
        pareto=secondary.pareto_fronts(rows),
        blocks=blocks,
        runs=len(experiment.records),
        within=question.within,
        level=min((looks.level(p.pairs) for p in judged if p.low is not None), default=looks.level(max(1, blocks))),
        warnings=(
            *_warnings(experiment, rows, stopped, question.warmup),
            *met.of().conditions,
            *energy_notes(experiment),
            *metric_notes(experiment),
            *memory_notes(experiment, {r.name: r.medians for r in rows}),
            *_to_be_set(experiment, contenders),
            *experiment.remarks,
        ),
        seconds_spent=seconds_spent(experiment),
        stopped=stopped,
        experiment=str(experiment.path),
    )


def _to_be_set(experiment: Experiment, contenders: Sequence[AskedContender]) -> list[str]:
    """The note where commands name variables in the place of secrets."""
    settings = [experiment.settings[c.name] for c in contenders if c.name in experiment.settings]
    words = [word for s in settings for word in (*s.command, *s.env.values())]
    names = masked_names("\n".join([*(c.text for c in contenders), *words]))
    return [to_be_set("what is printed of the commands", names)] if names else []


def _fastest(rows: Sequence[ContenderSummary], judged: Sequence[PairVerdict]) -> tuple[str, ...]:
    """The names of those that may be the best: no other one is surely better than they are."""
    # what failed is no answer, and beats none
    good = [r.name for r in rows if r.runs and not r.error]
    judged = [p for p in judged if p.one in good and p.other in good]
    beaten = {p.one for p in judged if p.verdict is Word.FASTER}
    beaten |= {p.other for p in judged if p.verdict is Word.SLOWER}
    left = tuple(name for name in good if name not in beaten)
    if len(rows) <= _ALL_PAIRS_UP_TO:
        return left
    # compared with the reference only: those whose intervals reach that of the best one
    against = {p.other: (p.low, p.high) for p in judged if p.low is not None and p.high is not None}
    best = max((low for low, _ in against.values()), default=1.0)
    if best <= 1.0:
        return left
    return tuple(name for name, (_, high) in against.items() if high >= best)


def describe(verdict: CompareVerdict, labels: Mapping[str, str] | None = None) -> str:
    """The answer in one sentence; `labels` are shorter names of the contenders. Raises InputError where nothing ran well."""
    called = labels or {}
    rows = [r for r in verdict.contenders if r.runs]
    fastest = [called.get(n, n) for n in verdict.fastest]
    reference = verdict.contenders[0]
    if len(rows) < 2:
        if reference.median is None:
            raise InputError(
                f"{verdict.experiment} holds no good run of {reference.name}",
                "compare again",
            )
        value = format_metric(verdict.metric, reference.median, verdict.currency)
        return f"{called.get(reference.name, reference.name)}: {value}"
    if len(rows) == 2 and (pair := rows[1].against_reference) is not None:
        answer = describe_pair(pair, called)
        failed = [called.get(r.name, r.name) for r in rows if r.error]
        return f"{listed(failed)} failed; before that {answer}" if failed else answer
    if not fastest:
        return f"each of the {len(rows)} failed: none is the best"
    if len(fastest) == 1:
        return f"{fastest[0]} is the best of {sum(not r.error for r in rows)}"
    if len(fastest) > _NAMED:
        return f"the fastest cannot be distinguished: {', '.join(fastest[:_NAMED])} and {len(fastest) - _NAMED} more"
    return f"the fastest cannot be distinguished: {', '.join(fastest)}"


def describe_pair(pair: PairVerdict, called: Mapping[str, str]) -> str:
    """`./new is 1.47× faster than ./old (1.45–1.49)`: what was found of two contenders, in a sentence."""
    one, other = (called.get(name, name) for name in (pair.one, pair.other))
    ratio = pair.slowdown if pair.verdict is Word.SLOWER else pair.interval
    if pair.verdict in (Word.FASTER, Word.SLOWER):
        size, _, span = format_ratio(ratio).partition(" ")
        return f"{other} is {size} {pair.verdict.value} than {one} {span}{pair.rests_on}"
    return pair.sentence if pair.verdict is Word.NO_DIFFERENCE else f"{pair.sentence}, {other} against {one}"
