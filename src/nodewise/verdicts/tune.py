# SPDX-License-Identifier: BSD-3-Clause
"""The verdict of a tune, from its experiment alone: what was recorded says all, so it can be drawn again anywhere."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from nodewise.records.answers import answer_notes
from nodewise.records.experiment import Experiment
from nodewise.runner.setting import Setting
from nodewise.statistics.compare import Ratio, ratio_interval
from nodewise.statistics.interval import median_interval
from nodewise.statistics.sequential import Looks
from nodewise.statistics.summary import mad, median
from nodewise.statistics.verdict import Verdict, Word, judge
from nodewise.verdicts.secondary import Beside, energy_notes

BASELINE = "baseline"


def good_costs(experiment: Experiment, key: str, phase: str | None = None) -> list[float]:
    """The costs of a setting's good runs, in the order they were taken."""
    found = experiment.costs[experiment.records.of(key, phase)]
    return [float(c) for c in found[~np.isnan(found)]]


def paired_costs(
    experiment: Experiment, one: str, other: str, phase: str | None = None
) -> tuple[list[float], list[float]]:
    """Costs of two settings in the blocks in which both ran well, in the same order."""
    blocks = experiment.records.blocks
    costs = experiment.costs

    def by_block(key: str) -> dict[int, float]:
        at = experiment.records.of(key, phase)
        return {int(blocks[i]): float(costs[i]) for i in at if not math.isnan(costs[i])}

    first, second = by_block(one), by_block(other)
    both = sorted(first.keys() & second.keys())
    return [first[b] for b in both], [second[b] for b in both]


def _candidate(experiment: Experiment) -> str:
    """The setting that was confirmed; where it did not come to that, the best median of those that ran more than once.

    One that ever failed is never the candidate.
    """
    failed = experiment.records.failures()
    if experiment.plan is not None and experiment.plan.candidate not in failed:
        return experiment.plan.candidate
    times = {
        key: good
        for key in experiment.settings
        if key != BASELINE and key not in failed and (good := good_costs(experiment, key))
    }
    if not times:
        return BASELINE
    repeated = {k: t for k, t in times.items() if len(t) > 1} or times
    return min(repeated, key=lambda k: median(repeated[k]))


def _compare(experiment: Experiment, candidate: str) -> Verdict:
    within = float(experiment.question["within"])
    plan = experiment.plan
    if candidate == BASELINE:
        return Verdict(Word.UNDECIDED, Ratio(1.0, 0.0, math.inf, 0), within)
    if plan is not None and plan.candidate == candidate:
        pairs = paired_costs(experiment, BASELINE, candidate, "confirm")
        if pairs[0]:
            return judge(ratio_interval(*pairs, level=Looks(plan.looks, plan.alpha).level), within, final=True)
    # without a confirmation there is a guess but no interval: the candidate was picked for its good luck, too
    guess = median(good_costs(experiment, BASELINE)) / median(good_costs(experiment, candidate))
    return Verdict(Word.UNDECIDED, Ratio(guess, 0.0, math.inf, 0), within)


def _shares(experiment: Experiment, candidate: str, verdict: Verdict) -> dict[str, float]:
    """How much of the gain each axis brought: what is lost when that axis alone is put back, all adding up to 1."""
    shares = dict.fromkeys(experiment.question["axes"], 0.0)
    plan = experiment.plan
    if plan is None or verdict.word is not Word.FASTER:
        return shares
    for axis, key in plan.ablations.items():
        without, best = paired_costs(experiment, key, candidate, "confirm")
        if without:
            shares[axis] = max(0.0, math.log(ratio_interval(without, best).ratio))
    if not plan.ablations and len(changed := _changed(experiment, candidate)) == 1:
        shares[changed[0]] = 1.0
    total = sum(shares.values())
    return {name: share / total if total > 0 else 0.0 for name, share in shares.items()}


def _changed(experiment: Experiment, candidate: str) -> list[str]:
    return list(experiment.settings[candidate].values)


def summarise(experiment: Experiment, key: str) -> dict[str, Any]:
    """One setting's runs: how many, and centre, spread and 95 % interval in the metric's unit."""
    at = experiment.records.of(key)
    costs = good_costs(experiment, key)
    objective = experiment.objective
    values = [objective.value(c) for c in costs]
    low, high = median_interval(values) if values else (None, None)
    return {
        "key": key,
        "values": dict(experiment.settings[key].values),
        "runs": int(at.size),
        "failed": int(at.size) - int(experiment.records.ok[at].sum()),
        "median": median(values) if values else None,
        "mad": mad(values) if values else None,
        "low": low,
        "high": high,
    }


def _dropped_after(experiment: Experiment) -> dict[str, int]:
    """For each setting that left the search before its last block, the last one that it ran in."""
    records = experiment.records
    if "search" not in records.phases:
        return {}
    searched = records.phase_codes == records.phases.index("search")
    last: npt.NDArray[np.int64] = np.full(len(records.keys), -1, dtype=np.int64)
    np.maximum.at(last, records.codes[searched], records.blocks[searched])
    return {key: int(last[i]) for i, key in enumerate(records.keys) if 0 <= last[i] < last.max()}


def _notes(experiment: Experiment, verdict: Verdict) -> list[str]:
    notes = []
    question = experiment.question
    if not question["machine_is_live"]:
        notes.append("the machine is not this one: settings were handed over by environment, nothing was bound")
    for name, values in question["axes"].items():
        if len(values) == 1:
            notes.append(f"{name}: nothing to choose from here")
    failed = {key: experiment.records[i] for key, i in experiment.records.failures().items()}
    notes += [
        f"{key} was left out: {(record.sample.error or 'it failed').splitlines()[0]}"
        for key, record in failed.items()
        if not record.sample.cut_off
    ]
    if verdict.word is Word.SLOWER:
        notes.append(f"the best setting found was {verdict.sentence} than the baseline, which therefore stays")
    notes += answer_notes(experiment)
    if experiment.damaged_lines:
        notes.append(f"{experiment.damaged_lines} damaged lines of samples.jsonl were skipped")
    return notes


def _chosen(experiment: Experiment, setting: Setting) -> dict[str, Any]:
    data = setting.to_json()
    places = setting.places
    threads = setting.values.get("threads", len(places) if places else None)
    return {
        **{k: data[k] for k in ("key", "values", "env", "unset", "command", "mask", "places")},
        "placement": setting.values.get("placement", "os"),
        "threads": threads,
        "launch_line": setting.launch_line(experiment.question["environment"]),
    }


def conclude(experiment: Experiment, stopped: str) -> dict[str, Any]:
    """What `tune --json` prints; `stopped` says what ended it: `decided`, `budget` or `interrupted`.

    `low` and `high` are None where there were too few runs for an interval. `best` is the baseline unless the verdict is
    that another setting is faster, or may be. Medians and spreads are in the unit of `metric`.
    """
    candidate = _candidate(experiment)
    verdict = _compare(experiment, candidate)
    ratio = verdict.ratio
    keep = verdict.word in (Word.SLOWER, Word.NO_DIFFERENCE)
    word = Word.NO_DIFFERENCE if keep else verdict.word
    baseline = experiment.settings[BASELINE]
    best = baseline if keep else experiment.settings[candidate]
    dropped = _dropped_after(experiment)
    beside = Beside(experiment)
    summaries = [
        {
            **summarise(experiment, key),
            "dropped_after": dropped.get(key),
            "metrics": beside.of(experiment.records.of(key)),
        }
        for key in experiment.settings
    ]
    base = next(s for s in summaries if s["key"] == BASELINE)
    maximise = experiment.objective.maximise
    return {
        "best": _chosen(experiment, best),
        "candidate": candidate,
        "baseline": {**_chosen(experiment, baseline), "median": base["median"], "mad": base["mad"]},
        "metric": experiment.objective.metric,
        "maximise": maximise,
        "shown": [o.metric for o in experiment.shown.metrics],
        "currency": experiment.shown.currency,
        "ratio": ratio.ratio,
        "low": ratio.low if ratio.low > 0 else None,
        "high": ratio.high if math.isfinite(ratio.high) else None,
        "verdict": word.value,
        "sentence": verdict.sentence,
        "within": verdict.within,
        "beyond": verdict.beyond if math.isfinite(verdict.beyond) else None,
        "runs": len(experiment.records),
        "seconds_spent": seconds_spent(experiment),
        "axes": _shares(experiment, candidate, verdict),
        "why": _why(experiment, best),
        "settings": sorted(summaries, key=lambda s: _order(s["median"], maximise)),
        "pareto": beside.fronts(summaries),
        "notes": [*_notes(experiment, verdict), *energy_notes(experiment)],
        "stopped": stopped,
        "experiment": str(experiment.path),
    }


def _why(experiment: Experiment, best: Setting) -> list[str]:
    """For each knob that the best setting changes, what it does, why it helps here, and where that is documented."""
    told = []
    for name, knob in experiment.question.get("knobs", {}).items():
        reason = knob["why"].get(str(best.values.get(name)), "")
        if reason:
            told.append(f"{name}={best.values[name]} ({knob['variable']}): {reason} See {knob['source']}")
    return told


def _order(value: float | None, maximise: bool) -> float:
    return math.inf if value is None else -value if maximise else value


def seconds_spent(experiment: Experiment) -> float:
    """Wall time from the first run's begin to the last one's end."""
    if not len(experiment.records):
        return 0.0
    begin = experiment.records.plain("started_at")
    last = int(np.argmax(begin))
    return float(begin[last] + experiment.records.plain("wall_s")[last] - begin.min())
