# SPDX-License-Identifier: BSD-3-Clause
"""An experiment while it runs, from what its recorder has written so far: how far it is, what leads, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from nodewise.base.frozen import dataclass
from nodewise.records.experiment import Experiment, read_experiment
from nodewise.runner.setting import BASELINE
from nodewise.statistics.sequential import Looks
from nodewise.statistics.summary import median
from nodewise.statistics.verdict import Word
from nodewise.verdicts.failures import settings_to_blame
from nodewise.verdicts.pair import Pairs, costs_of, judge_pairs, pair_up
from nodewise.verdicts.question import machine_of, question_of
from nodewise.verdicts.spent import seconds_spent
from nodewise.verdicts.tune import CONFIRM, TUNE, plan_of

#: The settings that are listed.
_MOST_LEADERS = 8


@dataclass(frozen=True)
class Look:
    """What was known after so many deciding blocks: the ratio of candidate and baseline with its interval (None: none)."""

    blocks: int
    ratio: float
    low: float | None
    high: float | None
    verdict: Word


@dataclass(frozen=True)
class Leader:
    """A setting that leads the search: the median of its runs in the metric's unit, and the baseline's as a multiple; a guess, as it was picked for it."""

    key: str
    values: Mapping[str, Any]
    runs: int
    median: float
    ratio: float


@dataclass(frozen=True)
class Live:
    """An experiment as its folder has it.

    `seconds` and `runs` are spent, of `budget_seconds` and `budget_runs` (None: no limit); `left_seconds` is what may still come, at most.
    `candidate` is what is held against the baseline, after `blocks` blocks of `most_blocks`, `looks` are what was known when, all of
    which hold together; `leaders` lead the search. `written_at` is when the last run was written down, in seconds since 1970; `ended` is
    whether there is a verdict.
    """

    kind: str
    command: tuple[str, ...]
    host: str
    started_at: str
    folder: str
    phase: str
    runs: int
    failed: int
    seconds: float
    budget_seconds: float | None
    budget_runs: int | None
    left_seconds: float | None
    metric: str
    maximise: bool
    candidate: str | None
    blocks: int
    most_blocks: int | None
    looks: tuple[Look, ...]
    leaders: tuple[Leader, ...]
    written_at: float
    ended: bool

    def as_of(self, now: float) -> Live:
        """The same a moment later, in seconds since 1970, of which nothing was written yet."""
        if self.budget_seconds is None:
            return self
        since = 0.0 if self.ended else max(0.0, now - self.written_at)
        left = 0.0 if self.ended else max(0.0, self.budget_seconds - self.seconds - since)
        return replace(self, left_seconds=left)


def read_live(folder: Path) -> Live:
    """What a folder holds at the moment; nothing of it is locked or changed. Raises InputError."""
    written = max(
        (p.stat().st_mtime for p in (folder / "samples.jsonl", folder / "question.json") if p.exists()), default=0.0
    )
    return live_of(read_experiment(folder), written)


def live_of(experiment: Experiment, written_at: float) -> Live:
    """The same of an experiment that was read. Raises InputError where its question is damaged."""
    question, records = question_of(experiment), experiment.records
    budget = _budget(experiment.question)
    is_tune = question.kind == TUNE and BASELINE in experiment.settings
    candidate, looks, most = _looks(experiment) if is_tune else (None, (), None)
    return Live(
        kind=question.kind,
        command=tuple(question.command),
        host=machine_of(experiment).hostname,
        started_at=question.started_at,
        folder=str(experiment.path),
        phase=records.phases[int(records.phase_codes[-1])] if len(records) else "first run",
        runs=len(records),
        failed=len(records) - int(records.ok.sum()),
        seconds=seconds_spent(experiment),
        budget_seconds=budget.get("seconds"),
        budget_runs=budget.get("runs"),
        left_seconds=None,
        metric=experiment.objective.metric,
        maximise=experiment.objective.maximise,
        candidate=candidate,
        blocks=len(_pairs(experiment, candidate).one) if candidate else 0,
        most_blocks=most,
        looks=looks,
        leaders=_leaders(experiment) if is_tune else (),
        written_at=written_at,
        ended=experiment.verdict is not None,
    ).as_of(written_at)


def _budget(question: Mapping[str, Any]) -> Mapping[str, Any]:
    """The budget that holds now: the one that was given last."""
    extended = question.get("extended") or []
    found: Mapping[str, Any] = (extended[-1]["budget"] if extended else question.get("budget")) or {}
    return found


def _pairs(experiment: Experiment, candidate: str) -> Pairs:
    return pair_up(experiment, BASELINE, candidate, CONFIRM)


def _looks(experiment: Experiment) -> tuple[str | None, tuple[Look, ...], int | None]:
    """The candidate of the comparison that runs, what each look at it showed, and how many blocks it has at most."""
    plans = [p for p in experiment.plans if p.candidate in experiment.settings]
    if not plans or (plan := plan_of(experiment, plans[-1].candidate)) is None:
        return None, (), None
    question, pairs = question_of(experiment), _pairs(experiment, plan.candidate)
    level, accept = Looks(plan.looks, plan.alpha).level, question.accept_disturbed
    found: list[Look] = []
    count = plan.looks[0]
    for look in plan.looks:
        # blocks that something disturbed are there and do not count
        while count <= len(pairs.one) and len(_first(pairs, count).deciding(accept)[0]) < look:
            count += 1
        if count > len(pairs.one):
            break
        verdict, _ = judge_pairs(
            _first(pairs, count), lambda _: level, question.within, final=False, accept_disturbed=accept, surely=True
        )
        ratio = verdict.ratio
        low, high = (ratio.low, ratio.high) if ratio.has_interval else (None, None)
        found.append(Look(look, ratio.ratio, low, high, verdict.word))
    return plan.candidate, tuple(found), plan.looks[-1]


def _first(pairs: Pairs, count: int) -> Pairs:
    return replace(
        pairs, one=pairs.one[:count], other=pairs.other[:count], blocks=pairs.blocks[:count], after=pairs.after[:count]
    )


def _leaders(experiment: Experiment) -> tuple[Leader, ...]:
    """The best medians of those that do not fail, those that ran once behind the others; the baseline is the first."""
    to_blame, objective = settings_to_blame(experiment), experiment.objective
    costs = {key: costs_of(experiment, key) for key in experiment.settings if key not in to_blame}
    if not costs.get(BASELINE):
        return ()
    base = median(costs[BASELINE])
    others = sorted((len(c) < 2, median(c), key) for key, c in costs.items() if c and key != BASELINE)
    return tuple(
        Leader(
            key,
            dict(experiment.settings[key].values),
            len(costs[key]),
            objective.value(median(costs[key])),
            base / median(costs[key]),
        )
        for key in (BASELINE, *(key for _, _, key in others[: _MOST_LEADERS - 1]))
    )
